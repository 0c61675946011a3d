// SPDX-License-Identifier: MIT

import PulseKit
import PulseTesting

// The complete path of a request: a client with plugins against a server on a loopback socket of this process.

guard let options = DemoOptions(CommandLine.arguments.dropFirst()) else {
    FileHandle.standardError.write(Data((DemoOptions.usage + "\n").utf8))
    exit(2)
}

let server = try await MockServer.start()
server.openShop()

let bus = PulseEventBus()
let stage = Stage(isVerbose: options.isVerbose)
stage.recorder.attach(to: bus)
let client = PulseClient(
    configuration: PulseConfiguration(baseURL: server.baseURL)
        .with(\.retryPolicy, value: RetryPolicy(maxAttempts: 3, backoffStrategy: .constant(0.05))),
    plugins: [.headers(["X-App-Version": "1.2"]), stage.recorder],
    events: bus)

let events = bus.events
let reporter = Task {
    for await event in events {
        await stage.event(event)
    }
}

await stage.step("A typed GET") {
    let product = try await client.request(GetProduct(id: 7))
    guard product == MockServer.tea else { throw Stage.Unexpected(description: "got \(product)") }
    return "\(product.name) at \(product.price)"
}

await stage.step("A typed POST") {
    let made = try await client.request(AddProduct(product: Product(id: 8, name: "Darjeeling", price: 11)))
    guard server.requests.last?.headers["X-App-Version"] == "1.2" else {
        throw Stage.Unexpected(description: "the plugin's header did not arrive")
    }
    return "created \(made.name), with the plugin's header on it"
}

await stage.step("An error is its case") {
    do {
        try await client.request(GetProduct(id: 404))
        throw Stage.Unexpected(description: "no error")
    } catch PulseError.http(let response) {
        return "PulseError.http, status \(response.statusCode)"
    }
}

await stage.step("A 503 is tried again") {
    let stock = try await client.request(GetStock())
    let count = server.requests.count { $0.path == "/stock" }
    guard count == 2 else { throw Stage.Unexpected(description: "\(count) requests") }
    return "\(stock.available) in stock, after \(count) attempts"
}

await stage.step("A redirect is followed") {
    let response = try await client.rawRequest(Request<Product>(.get, "/old-shop/{id}", path: ["id": 7]))
    guard response.redirects.map(\.statusCode) == [301] else {
        throw Stage.Unexpected(description: "redirects: \(response.redirects)")
    }
    return "\(response.statusCode) from \(response.request.url?.path ?? "")"
}

await stage.step("A cancelled call ends its wire") {
    let call = Task { try await client.request(GetReport()) }
    _ = try await server.wait(until: { $0.requests.contains { $0.path == "/report" } })
    call.cancel()
    let result = await call.result
    guard case .failure(PulseError.cancelled) = result else { throw Stage.Unexpected(description: "\(result)") }
    _ = try await server.wait(until: { !$0.connectionsClosedByClient.isEmpty })
    return "PulseError.cancelled, and the server saw the connection close"
}

await stage.showPlugins(server, bus)
try await stage.showCache(bus)
await stage.showStreams(server, bus)
await stage.showSocket(server, bus)
await stage.showGraphQL(server, bus)
await stage.showSubscription(server, bus)
try await stage.showTransfers(server, bus)
await stage.showQueue(server, client.configuration, bus)

await client.shutdown()
await server.shutdown()
reporter.cancel()
try await stage.writeRecording(options)
exit(await stage.close())
