resource "svc_tcp_monitor" "database" {
  name        = "Database"
  uri         = "db.example.com:5432"
  periodicity = "1m"
  timeout     = 5000
  degraded_at = 250
  active      = true # the default is false: then it is not checked
  regions     = ["hosta-fra", "hostb-par"]
}

variable "otlp_token" {
  description = "Token of the OpenTelemetry collector."
  type        = string
  sensitive   = true
}

# An IPv6 address stands in brackets. The metrics of this monitor go to a collector too.
resource "svc_tcp_monitor" "mail" {
  name          = "Mail server"
  uri           = "[2001:db8::25]:25"
  periodicity   = "5m"
  active        = true
  otlp_endpoint = "https://otlp.example.com/v1/metrics"
  otlp_headers = {
    Authorization = "Bearer ${var.otlp_token}"
  }
}
