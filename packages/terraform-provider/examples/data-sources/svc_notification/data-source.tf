variable "notification_id" {
  description = "Id of a channel that is managed elsewhere."
  type        = string
}

data "svc_notification" "ops" {
  id = var.notification_id
}

output "watched_monitors" {
  value = data.svc_notification.ops.monitor_ids
}
