/** Configurations that the JSON syntax can hardly express. */
export const HCL = `
resource "svc_http_monitor" "many" {
  for_each    = toset(["a", "b"])
  name        = each.key
  url         = "https://example.com/\${each.key}"
  periodicity = "1m"
}

resource "svc_tcp_monitor" "counted" {
  count       = 2
  name        = "Port \${count.index}"
  uri         = "example.com:\${443 + count.index}"
  periodicity = "1m"
}

resource "svc_http_monitor" "dynamic" {
  name        = "Dynamic"
  url         = "https://example.com"
  periodicity = "1m"

  dynamic "headers" {
    for_each = [svc_http_monitor.many["a"].id, "b"]
    content {
      key   = "X-\${headers.key}"
      value = headers.value
    }
  }

  dynamic "body_assertions" {
    for_each = toset([svc_http_monitor.many["a"].id])
    content {
      target     = body_assertions.value
      comparator = "contains"
    }
  }
}

resource "svc_notification" "all" {
  provider_type = "email"
  monitor_ids   = concat([for each in svc_http_monitor.many : each.id], svc_tcp_monitor.counted[*].id)
  email {
    email = "a@example.com"
  }
}

resource "svc_notification" "blocks" {
  provider_type = "webhook"
  webhook {
    endpoint = "https://hook.example.com"
    headers {
      key   = "X-One"
      value = "one"
    }
    headers {
      key   = "X-Two"
      value = "two"
    }
  }
}

resource "svc_notification" "list" {
  provider_type = "webhook"
  webhook {
    endpoint = "https://hook.example.com"
    headers  = [{ key = "X-One", value = "one" }, { key = "X-Two", value = "two" }]
  }
}
`;

/** A module for `terraform test`. */
export const MODULE = `
variable "periodicity" {
  type    = string
  default = "1m"
}

resource "svc_http_monitor" "web" {
  name        = "Web"
  url         = "https://example.com"
  periodicity = var.periodicity
}

output "id" {
  value = svc_http_monitor.web.id
}
`;

/** Four runs over {@link MODULE}. */
export const TESTS = `
run "plans" {
  command = plan
  assert {
    condition     = svc_http_monitor.web.timeout == 45000
    error_message = "the default of timeout is not planned"
  }
}

run "applies" {
  assert {
    condition     = svc_http_monitor.web.status == "unknown"
    error_message = "a new monitor has no status yet"
  }
}

run "changes" {
  variables {
    periodicity = "5m"
  }
  assert {
    condition     = svc_http_monitor.web.periodicity == "5m" && svc_http_monitor.web.id == run.applies.id
    error_message = "the monitor was not changed in place"
  }
}

run "refuses" {
  command = plan
  variables {
    periodicity = "1h"
  }
  assert {
    condition     = svc_http_monitor.web.periodicity == "1h"
    error_message = "the change is not planned"
  }
}
`;
