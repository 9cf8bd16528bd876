terraform {
  required_providers {
    svc = {
      source  = "svc/svc"
      version = "~> 0.1"
    }
  }
}

# The API token is taken from the environment variable SVC_API_TOKEN, so that it is in no file.
provider "svc" {
  base_url = var.svc_base_url
}

variable "svc_base_url" {
  description = "Where the coordinator is."
  type        = string
  default     = "http://127.0.0.1:8080"
}
