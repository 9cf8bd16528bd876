# The zone still points where it should: two addresses, the mail servers, and a policy for mail.
resource "svc_dns_monitor" "zone" {
  name        = "example.com"
  uri         = "example.com"
  periodicity = "10m"
  active      = true # the default is false: then it is not checked

  dynamic "record_assertions" {
    for_each = ["192.0.2.10", "192.0.2.11"]
    content {
      record     = "A"
      target     = record_assertions.value
      comparator = "eq"
    }
  }

  record_assertions {
    record     = "MX"
    target     = "10 mail.example.com"
    comparator = "eq"
  }

  record_assertions {
    record     = "TXT"
    target     = "v=spf1"
    comparator = "contains"
  }
}
