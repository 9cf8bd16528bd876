variable "page_id" {
  description = "Id of a status page that is managed elsewhere."
  type        = string
}

data "svc_status_page" "main" {
  id = var.page_id
}

# A line of our own on that page.
resource "svc_status_page_component" "notes" {
  page_id     = data.svc_status_page.main.id
  type        = "static"
  name        = "Maintenance"
  description = "Every Tuesday, 6 to 7 h UTC."
}
