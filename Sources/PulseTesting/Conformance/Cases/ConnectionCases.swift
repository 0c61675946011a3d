// SPDX-License-Identifier: MIT

import PulseCore
import PulseTesting

extension TransportConformance.Case {
    static let connecting: [Self] = [
        .wire("a refused connection is an error before anything is sent") { _ in
            .status(200)
        } verify: { stage in
            // A port that the system never assigns by itself.
            for method in [HTTPMethod.get, .post] {
                let request = try stage.request(method, at: "http://127.0.0.1:1")
                try await stage.expect(.transport(.cannotConnectToHost, .beforeSend), of: request)
            }
        },
        .wire("a name that does not resolve is an error before anything is sent") { _ in
            .status(200)
        } verify: { stage in
            // Longer than a label may be, so that no name server is queried.
            let name = String(repeating: "a", count: 70) + ".invalid"
            let request = try stage.request(at: "http://\(name)/")
            try await stage.expect(.transport(.cannotFindHost, .beforeSend), of: request)
        },
        .wire("a body file that is missing or a folder is an error before anything is sent") { _ in
            .status(200)
        } verify: { stage in
            let folder = FileManager.default.temporaryDirectory
            for file in [folder.appendingPathComponent("pulse-\(UUID().uuidString)"), folder] {
                let request = try stage.request(.put, body: .file(file))
                try await stage.expect(.transport(.cannotOpenFile, .beforeSend), of: request)
            }
            try Check.equal(stage.requests.count, 0, "the number of received requests")
        },
        .wire("a connection that hangs ends with a timeout") { _ in
            .status(200)
        } verify: { stage in
            try await FullBacklog.with { address in
                let request = try stage.request(at: address, connectTimeout: 0.3, idleTimeout: 0.3)
                _ = try await stage.failure(of: request)
            }
        },
        .wire("a connection that hangs is an error before anything is sent") { _ in
            .status(200)
        } verify: { stage in
            try await FullBacklog.with { address in
                let request = try stage.request(at: address, connectTimeout: 0.3, idleTimeout: 0.3)
                try await stage.expect(.transport(.cannotConnectToHost, .beforeSend), of: request)
            }
        },
        .wire("a cancellation while connecting ends the wait") { _ in
            .status(200)
        } verify: { stage in
            try await FullBacklog.with { address in
                let request = try stage.request(at: address)
                let task = stage.start(request)
                // Another request meanwhile, so that the first has started to connect.
                _ = try await stage.get()
                task.cancel()
                try await ExpectedFailure.kind(.cancelled).verify(stage.failure(of: task, for: request))
            }
        },
    ]

    static let connections: [Self] = [
        .wire("consecutive requests share a connection") { _ in
            .data(.everyByte)
        } verify: { stage in
            for _ in 0..<5 { _ = try await stage.get() }
            try Check.equal(Set(stage.requests.map(\.connection)).count, 1, "the number of connections")
        },
        .wire("a connection that the server closed is not reused") { _ in
            .text("answer").fault(.close, at: .end)
        } verify: { stage in
            for count in 1...3 {
                try Check.equal(try await stage.get().text, "answer", "the response")
                try await stage.server.wait { $0.connections.count == count && $0.openConnectionCount == 0 }
            }
        },
        .wire("unsolicited bytes from a server are no response to a request") { request in
            guard request.path == "/first" else { return .text("answer") }
            return .raw([.text(Self.genuine), .delay(0.05), .text(Self.forgery)])
        } verify: { stage in
            try Check.equal(try await stage.get("/first").text, "answer", "the first response")
            let count = genuine.utf8.count + forgery.utf8.count
            try await stage.server.wait {
                $0.connections.first.map { !$0.isOpen || $0.sentByteCount == count } ?? false
            }
            try Check.equal(try await stage.get("/second").text, "answer", "the second response")
        },
        .wire("Connection: close is respected") { _ in
            .text("answer", headers: ["Connection": "close"])
        } verify: { stage in
            for _ in 0..<3 { try Check.equal(try await stage.get().text, "answer", "the response") }
            try Check.equal(Set(stage.requests.map(\.connection)).count, 3, "the number of connections")
        },
        .wire("no host gets more connections than its limit", connections: 2) { request in
            .text("answer", headers: ["X-Connection": "\(request.connection)"]).fault(.delay(0.2), at: .start)
        } verify: { stage in
            let peak = try await stage.mostConnections {
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for _ in 0..<12 {
                        group.addTask { try Check.equal(try await stage.get().text, "answer", "the response") }
                    }
                    try await group.waitForAll()
                }
            }
            try Check.equal(peak, 2, "the most connections at a time")
        },
        .wire("a wait for a connection is not idle time", connections: 1) { request in
            request.gap > 0 ? .text("answer").fault(.delay(request.gap), at: .start) : .text("answer")
        } verify: { stage in
            for seconds in [2.5, 10] as [TimeInterval] {
                let count = stage.requests.count
                let held = stage.start(try stage.request(.get, "/\(seconds)"))
                try await stage.requests(atLeast: count + 1)
                // Less than the wait for the connection, and much more than a response takes, unless the machine is
                // very busy.
                let waiting = try stage.request(idleTimeout: 0.8 * seconds)
                let outcome = await stage.start(waiting).result
                try Check.equal(
                    try await held.value.text, "answer", "the response to the request that held the connection")
                guard seconds == 10 || (try? outcome.get()) != nil else { continue }
                return try Check.equal(try outcome.get().text, "answer", "the response to the waiting request")
            }
        },
        .wire("a cancellation while waiting for a connection sends nothing and frees its slot", connections: 1) {
            request in
            request.path == "/held" ? .raw([.stall]) : .text("answer")
        } verify: { stage in
            let held = stage.start(try stage.request(.get, "/held"))
            try await stage.requests(atLeast: 1)
            let waiting = try stage.request(.get, "/waiting")
            let tasks = (0..<5).map { _ in stage.start(waiting) }
            tasks.forEach { $0.cancel() }
            for task in tasks {
                try await ExpectedFailure.kind(.cancelled).verify(stage.failure(of: task, for: waiting))
            }
            held.cancel()
            try Check.equal(try await stage.get("/after").text, "answer", "the response after all were cancelled")
            try Check.equal(stage.requests.map(\.path), ["/held", "/after"], "the received requests")
        },
        .wire("a wait for a connection ends at its limit, and nothing is sent", connections: 1) { request in
            request.path == "/held" ? .raw([.stall]) : .text("answer")
        } verify: { stage in
            let held = stage.start(try stage.request(.get, "/held"))
            try await stage.requests(atLeast: 1)
            var waiting = try stage.request(.post, "/waiting")
            waiting.poolTimeout = 0.2
            let error = try await stage.failure(of: waiting)
            try ExpectedFailure.transport(.timedOut, .beforeSend).verify(error)
            try Check.that(error.isPoolTimeout, "the cause of \(error) is no PoolTimeout")
            for part in ["0.2 s", stage.baseURL.host ?? "-"] {
                try Check.that("\(error)".contains(part), "“\(error)” does not name \(part)")
            }
            held.cancel()
            try Check.equal(try await stage.get("/after").text, "answer", "the response after the wait")
            try Check.equal(stage.requests.map(\.path), ["/held", "/after"], "the received requests")
        },
        .wire("open streams leave the connections of a host to other requests", connections: 1) { request in
            request.path == "/stream" ? .raw([.text("HTTP/1.1 200 OK\r\n\r\nopen"), .stall]) : .text("answer")
        } verify: { stage in
            var streams: [ByteStream] = []
            for _ in 0..<2 {
                var request = try stage.request(.get, "/stream", delivery: .streamed)
                request.poolTimeout = 1
                guard let response = try await stage.responseIfSupported(request) else { return }
                streams.append(try Check.some(response.bytes, "there is no stream"))
            }
            var other = try stage.request(.get, "/other")
            other.poolTimeout = 1
            try Check.equal(try await stage.send(other).text, "answer", "the response beside open streams")
            for stream in streams { stream.cancel() }
        },
        .wire("a shutdown closes every connection") { _ in
            .text("answer")
        } verify: { stage in
            for method in [HTTPMethod.get, .post] { _ = try await stage.send(stage.request(method)) }
            await stage.transport.shutdown()
            try await stage.server.wait { $0.openConnectionCount == 0 }
        },
    ]
    private static let genuine = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nanswer"
    private static let forgery = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged"
}
