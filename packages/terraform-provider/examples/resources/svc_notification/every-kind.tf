# One of each kind. What is secret comes from a variable; the forms that end in _wo keep it out of the state.
variable "channel_secrets" {
  description = "Addresses, keys and tokens of the channels, by the name of the kind."
  type        = map(string)
  sensitive   = true
}

resource "svc_notification" "email" {
  provider_type = "email"

  email {
    email = "team@example.com"
  }
}

resource "svc_notification" "webhook" {
  provider_type = "webhook"

  webhook {
    endpoint = "https://hooks.example.com/svc"
  }
}

resource "svc_notification" "sms" {
  provider_type = "sms"

  sms {
    phone_number = "+4915112345678"
  }
}

resource "svc_notification" "messenger_b" {
  provider_type = "messenger_b"

  messenger_b {
    phone_number = "+4915112345678"
  }
}

resource "svc_notification" "messenger_a" {
  provider_type = "messenger_a"

  messenger_a {
    chat_id = "-1001234567890"
  }
}

resource "svc_notification" "chat_a" {
  provider_type = "chat_a"

  chat_a {
    webhook_url = var.channel_secrets["chat_a"]
  }
}

resource "svc_notification" "chat_b" {
  provider_type = "chat_b"

  chat_b {
    webhook_url_wo         = var.channel_secrets["chat_b"]
    webhook_url_wo_version = 1
  }
}

resource "svc_notification" "chat_c" {
  provider_type = "chat_c"

  chat_c {
    webhook_url = var.channel_secrets["chat_c"]
  }
}

resource "svc_notification" "incident_a" {
  provider_type = "incident_a"

  incident_a {
    integration_key_wo         = var.channel_secrets["incident_a"]
    integration_key_wo_version = 1
  }
}

resource "svc_notification" "incident_b" {
  provider_type = "incident_b"

  incident_b {
    api_key = var.channel_secrets["incident_b"]
    region  = "eu"
  }
}

resource "svc_notification" "incident_c" {
  provider_type = "incident_c"

  incident_c {
    webhook_url = var.channel_secrets["incident_c"]
  }
}

resource "svc_notification" "push_a" {
  provider_type = "push_a"

  push_a {
    topic      = "alerts"
    server_url = "https://push.example.com"
    token      = var.channel_secrets["push_a"]
  }
}
