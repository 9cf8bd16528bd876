resource "svc_status_page" "main" {
  title = "Example status"
  slug  = "example"
}

resource "svc_status_page_component_group" "regions" {
  for_each = toset(["Europe", "North America"])

  page_id = svc_status_page.main.id
  name    = each.key
}
