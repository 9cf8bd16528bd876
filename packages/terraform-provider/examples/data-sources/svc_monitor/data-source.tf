variable "monitor_id" {
  description = "Id of a monitor that is managed elsewhere."
  type        = string
}

data "svc_monitor" "api" {
  id = var.monitor_id
}

output "api_status" {
  description = "active, degraded, error or unknown."
  value       = data.svc_monitor.api.status
}
