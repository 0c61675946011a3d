module pulsekit.invalid/servers

go 1.19
