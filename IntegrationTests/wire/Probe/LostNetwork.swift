// SPDX-License-Identifier: MIT

import PulseKit

/// Two calls over one HTTP/2 connection whose network fails between them, and a later one. In a network of its own, which
/// it takes down.
enum LostNetwork {
    /// The outcomes of the last two calls, by their names. OpenSSL's server negotiates HTTP/2 and never responds.
    ///
    /// - Parameter cancels: whether the second call ends by cancellation, not by its idle timeout.
    static func play(certificates directory: String, cancels: Bool) async throws -> [String: String] {
        let server = Process()
        server.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        server.currentDirectoryURL = URL(fileURLWithPath: directory)
        server.arguments = [
            "openssl", "s_server", "-accept", "127.0.0.1:4433", "-cert", "server.pem", "-key", "server.key",
            "-cert_chain", "intermediate.pem", "-alpn", "h2",
        ]
        let (input, output) = (Pipe(), Pipe())
        server.standardInput = input
        server.standardOutput = output
        try server.run()
        defer { server.terminate() }
        read(output, until: "ACCEPT")

        guard let url = URL(string: "https://localhost:4433/") else { return [:] }
        var request = TransportRequest(urlRequest: URLRequest(url: url))
        request.proxy = .direct
        request.idleTimeout = 600
        request.tls.certificateAuthorities = [
            try Data(contentsOf: URL(fileURLWithPath: directory).appendingPathComponent("root.pem"))
        ]
        let transport = SocketTransport()
        let first = Task { [request] in try await transport.send(request) }
        // The preface of HTTP/2 is sent together with the request.
        read(output, until: "PRI * HTTP/2.0")
        try run("ip", "link", "set", "lo", "down")
        if !cancels { request.idleTimeout = 5 }
        let ended = Task { [request] in try await transport.send(request) }
        if cancels {
            // TCP has sent its bytes several times by then.
            try await Task.sleep(nanoseconds: 5_000_000_000)
            ended.cancel()
        }
        var outcomes = ["ended": await Outcome.text(of: ended)]
        outcomes["later"] = await Outcome.text(of: Task { [request] in try await transport.send(request) })
        first.cancel()
        await transport.shutdown()
        return outcomes
    }

    private static func read(_ pipe: Pipe, until text: String) {
        var seen = Data()
        while seen.range(of: Data(text.utf8)) == nil {
            let more = pipe.fileHandleForReading.availableData
            guard !more.isEmpty else { return }
            seen += more
        }
    }

    private static func run(_ command: String...) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = command
        try process.run()
        process.waitUntilExit()
    }
}
