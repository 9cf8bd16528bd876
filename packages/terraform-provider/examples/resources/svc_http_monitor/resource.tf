# A health check from three regions, with the answer looked at.
resource "svc_http_monitor" "api" {
  name        = "API"
  description = "What the mobile apps talk to."
  url         = "https://api.example.com/health"
  periodicity = "30s"
  timeout     = 10000
  degraded_at = 800
  retry       = 2
  active      = true # the default is false: a monitor that does not say this is not checked
  public      = true
  regions     = ["hosta-fra", "hostb-par", "hostc-us-east4"]

  # Degraded from two weeks before the TLS certificate expires.
  certificate_expiry_days = 14

  status_code_assertions {
    target     = 200
    comparator = "eq"
  }

  body_assertions {
    target     = "\"status\":\"ok\""
    comparator = "contains"
  }

  header_assertions {
    key        = "Content-Type"
    target     = "application/json"
    comparator = "contains"
  }
}

variable "orders_token" {
  description = "Token of the monitoring account of the orders service."
  type        = string
  sensitive   = true
}

# A request with a body and a secret header, which may only answer 201 or 202.
resource "svc_http_monitor" "orders" {
  name             = "Orders"
  url              = "https://orders.example.com/v2/orders?dry_run=true"
  method           = "POST"
  body             = jsonencode({ sku = "test", amount = 1 })
  follow_redirects = false
  periodicity      = "5m"
  active           = true

  headers {
    key   = "Content-Type"
    value = "application/json"
  }

  headers {
    key   = "Authorization"
    value = "Bearer ${var.orders_token}"
  }

  status_code_assertions {
    target     = 201
    comparator = "gte"
  }

  status_code_assertions {
    target     = 202
    comparator = "lte"
  }
}
