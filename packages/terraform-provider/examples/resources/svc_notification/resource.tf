resource "svc_http_monitor" "api" {
  name        = "API"
  url         = "https://api.example.com/health"
  periodicity = "30s"
  active      = true # the default is false: then it is not checked
}

resource "svc_tcp_monitor" "database" {
  name        = "Database"
  uri         = "db.example.com:5432"
  periodicity = "1m"
  active      = true
}

variable "hook_secret" {
  description = "What the receiver of the webhook recognises svc by."
  type        = string
  sensitive   = true
}

# A channel is told of the monitors that it lists, and of no others.
resource "svc_notification" "hook" {
  name          = "Incident bot"
  provider_type = "webhook"
  monitor_ids   = [svc_http_monitor.api.id, svc_tcp_monitor.database.id]

  webhook {
    endpoint = "https://hooks.example.com/svc"

    # Also as blocks: headers { … } for each of them.
    headers = [
      { key = "X-Shared-Secret", value = var.hook_secret },
    ]
  }
}

variable "pager_integration_key" {
  description = "Integration key of the on-call service."
  type        = string
  sensitive   = true
}

resource "svc_notification" "on_call" {
  name          = "On call"
  provider_type = "incident_a"
  monitor_ids   = [svc_http_monitor.api.id]

  incident_a {
    integration_key = var.pager_integration_key
  }
}
