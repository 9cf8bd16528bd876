resource "svc_status_page" "public" {
  title         = "Example status"
  slug          = "example"
  description   = "Whether our services work."
  homepage_url  = "https://www.example.com"
  contact_url   = "mailto:support@example.com"
  icon          = "https://www.example.com/favicon.png"
  custom_domain = "status.example.com"
}

# Only whoever has an address at one of these domains may see it.
resource "svc_status_page" "staff" {
  title              = "Internal status"
  slug               = "example-internal"
  access_type        = "email-domain"
  auth_email_domains = ["example.com", "example.org"]
}

variable "customer_page_password" {
  description = "Given to the customers of the hosted edition."
  type        = string
  sensitive   = true
}

resource "svc_status_page" "customers" {
  title       = "Hosted edition"
  slug        = "example-hosted"
  access_type = "password"
  password    = var.customer_page_password
}
