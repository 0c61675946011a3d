// SPDX-License-Identifier: MIT
//! The traffic on the wire, in a log without secrets.

import PulseKit
import PulseTesting

let server = try await MockServer.start()
server.on(.post, "/login") { _ in try .json(["id": "1", "sessionToken": "hunter2"]) }
let configuration = PulseConfiguration(baseURL: server.baseURL)

// snippet.use
let client = PulseClient(configuration: configuration, plugins: [.retry(), .logger()])
// snippet.end

// snippet.options
let verbose = PulseClient(
    configuration: configuration,
    plugins: [
        .logger(
            options: .init(
                verbosity: .verbose,
                sensitiveHeaders: ["X-Tenant"],
                maxBodyLength: 1024,
                includesCurl: true,
                output: { print($0) }))
    ])
// snippet.end

// snippet.curl
struct CurlPlugin: PulsePlugin {
    let identifier = "com.example.curl"

    func willSend(_ request: URLRequest, for context: PluginContext) async {
        print(request.curlCommand(body: context.body))
    }
}
// snippet.end

// snippet.level
let leveled = configuration.with(\.logLevel, value: .info)
// snippet.end

let login = Request<String>(.post, "/login").body(.json(["user": "ada", "password": "hunter2"]))
for client in [client, verbose, PulseClient(configuration: leveled, plugins: [CurlPlugin()])] {
    try await client.request(login)
    await client.shutdown()
}
await server.shutdown()
