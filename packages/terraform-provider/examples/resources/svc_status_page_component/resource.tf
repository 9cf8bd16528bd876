resource "svc_http_monitor" "api" {
  name        = "api.example.com"
  url         = "https://api.example.com/health"
  periodicity = "30s"
  active      = true # the default is false: then it is not checked
  public      = true
}

resource "svc_tcp_monitor" "database" {
  name        = "db.example.com"
  uri         = "db.example.com:5432"
  periodicity = "1m"
  active      = true
  public      = true
}

resource "svc_status_page" "main" {
  title = "Example status"
  slug  = "example"
}

resource "svc_status_page_component_group" "services" {
  page_id = svc_status_page.main.id
  name    = "Services"
}

resource "svc_status_page_component" "api" {
  page_id     = svc_status_page.main.id
  type        = "monitor"
  monitor_id  = svc_http_monitor.api.id
  name        = "API"
  description = "What the mobile apps talk to."
  group_id    = svc_status_page_component_group.services.id
  group_order = 1
}

resource "svc_status_page_component" "database" {
  page_id     = svc_status_page.main.id
  type        = "monitor"
  monitor_id  = svc_tcp_monitor.database.id
  name        = "Database"
  group_id    = svc_status_page_component_group.services.id
  group_order = 2
}

# A line without a monitor, below the group.
resource "svc_status_page_component" "support" {
  page_id     = svc_status_page.main.id
  type        = "static"
  name        = "Support"
  description = "Monday to Friday, 9 to 17 h CET."
  order       = 2
}
