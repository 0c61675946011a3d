// SPDX-License-Identifier: MIT

import Hummingbird
import Logging
import PulseKit
import ServiceLifecycle

let environment = Environment()
let logger = Logger(label: "gateway")
guard let url = environment.get("UPSTREAM_URL").flatMap({ URL(string: $0) }), url.host != nil else {
    logger.critical("UPSTREAM_URL is not set to a URL")
    exit(64)
}
guard let timeout = Double(environment.get("UPSTREAM_TIMEOUT") ?? "10"), (0.001...3600).contains(timeout) else {
    logger.critical("UPSTREAM_TIMEOUT is not a number of seconds from 0.001 to 3600")
    exit(64)
}
let upstream = Upstream(url: url, timeout: timeout, isRecorded: environment.get("DEBUG_NETWORK") == "1")

/// Shuts the client down after the server, which then has sent its last response.
struct ClientService: Service {
    let client: PulseClient

    func run() async throws {
        try? await gracefulShutdown()
        await client.shutdown(grace: 10)
    }
}

let gateway = Application(
    router: upstream.router(),
    configuration: ApplicationConfiguration(
        address: .hostname("127.0.0.1", port: environment.get("PORT", as: Int.self) ?? 8080), serverName: "gateway"),
    services: [ClientService(client: upstream.client)],
    onServerRunning: { channel in logger.notice("listening on port \(channel.localAddress?.port ?? 0)") },
    logger: logger)
try await gateway.runService()
