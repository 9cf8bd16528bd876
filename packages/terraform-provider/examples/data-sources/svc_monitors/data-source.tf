data "svc_monitors" "all" {
  limit = 100
}

# A channel that is told of every HTTP monitor there is, whoever manages it.
resource "svc_notification" "watchers" {
  name          = "Watchers"
  provider_type = "email"
  monitor_ids   = [for monitor in data.svc_monitors.all.monitors : monitor.id if monitor.type == "http"]

  email {
    email = "watchers@example.com"
  }
}
