/* SPDX-License-Identifier: GPL-2.0-or-later */
/* agent_values.c: the keys that the configuration file has beside the options. */
#include "cmd/agent/agent_alerts.h"

const struct sp_yaml_key sp_agent_file_values[] = {
    {"remote-write", sp_agent_file_remotes},
    {"fleet", sp_agent_file_fleet},
    {"pyroscope", sp_agent_file_pyroscope},
    {"otlp", sp_agent_file_otlp},
    {"alerts", sp_agent_alerts_take},
    {"alert-to", sp_agent_alert_to_take},
    {0},
};
