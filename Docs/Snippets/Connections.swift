// SPDX-License-Identifier: MIT
//! How connections are made: pins, TLS, proxies, cookies, sockets.

import PulseKit
import PulseTesting

let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
let authority = folder.appendingPathComponent("authority.pem")
let identity = folder.appendingPathComponent("client.p12")
for file in [authority, identity] { try Data("none".utf8).write(to: file) }
let password = "from-your-vault"
let url = URL(string: "https://api.example.com")!

// snippet.pins
let pins = SSLPinningPolicy.publicKeyHashes([
    "sha256/1Cz7aHR2e9mR3VNDYx2yAbGFMQYXzBOAVaDupraKW3Y=",  // in use
    "sha256/qEEmrtCKTakhaKPpII2vXqK/owvIJruVAq44sgcCNZI=",  // in reserve
])
.hosts("api.example.com", "**.cdn.example.com")
.expires(Date(timeIntervalSince1970: 1_893_456_000))

let pinned = PulseConfiguration(baseURL: url).with(\.sslPinningPolicy, value: pins)
// snippet.end

// snippet.refused
let refused = await PulseClient(configuration: pinned, transport: URLSessionTransport())
    .result(of: Request<String>(.get, "/"))
// On Linux .failure(.unsupported): URLSessionTransport cannot enforce the configuration's pinned public keys
// snippet.end
print(refused)

// snippet.report
let trial = PulseConfiguration(baseURL: url).with(\.sslPinningPolicy, value: pins.reportOnly())

let watching = Task {
    for await event in PulseEventBus.shared.subscribe(matching: .kinds(.pinningFailed)) {
        if case .pinningFailed(let host, let seen) = event { print(host, "showed", seen) }
    }
}
// snippet.end
print(trial.sslPinningPolicy.isReportOnly)
watching.cancel()

// snippet.tls
let settings = TLSSettings(
    certificateAuthorities: [try Data(contentsOf: authority)],  // in place of the system's
    clientCertificate: .init(pkcs12: try Data(contentsOf: identity), password: password),
    minimumVersion: .tls13)
let company = PulseConfiguration(baseURL: url).with(\.tls, value: settings)
// snippet.end
print(company)

// snippet.versions
let restricted = PulseConfiguration(baseURL: url).with(\.httpVersions, value: .http1)
// snippet.end
print(restricted)

// snippet.proxy
let office = ProxySettings.http(host: "proxy.example.com", port: 3128)
    .credentials(username: "ada", password: password)
    .excluding("localhost", ".internal.example.com")
let tunnel = ProxySettings.socks5(host: "127.0.0.1", port: 1080)
let proxied = PulseConfiguration(baseURL: url).with(\.proxy, value: office)  // or tunnel, .direct, .environment
// snippet.end
print(proxied, tunnel)

try await MockServer.run { server in
    server.on(.post, "/login") { _ in .status(204, headers: ["Set-Cookie": "session=1; Path=/; Max-Age=3600"]) }
    server.on(.get, "/me") { request in .text(request.headers["Cookie"] ?? "nobody") }

    // snippet.cookies
    let cookies = FileCookieStore(file: folder.appendingPathComponent("cookies.json"))
    let client = PulseClient(
        configuration: PulseConfiguration(baseURL: server.baseURL).with(\.cookieStore, value: cookies))
    try await client.post("/login")
    let me: String = try await client.get("/me")  // session=1

    if let error = await cookies.saveError { print("not in the file:", error) }
    await cookies.removeAll()  // at logout
    // snippet.end
    print(me)
    await client.shutdown()
}

#if os(Linux)
// snippet.socket
let transport = SocketTransport(unixSocketPath: "/var/run/docker.sock")
let docker = PulseClient(
    configuration: PulseConfiguration(baseURL: URL(string: "http://localhost")!), transport: transport)
let version = await docker.result(of: Request<[String: JSONValue]>(.get, "/version"))
// snippet.end
print(version)
await docker.shutdown()
await transport.shutdown()
#endif
try FileManager.default.removeItem(at: folder)
