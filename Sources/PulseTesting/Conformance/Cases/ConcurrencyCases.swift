// SPDX-License-Identifier: MIT

import PulseCore
import PulseTesting

extension TransportConformance.Case {
    static let concurrency: [Self] = [
        .semantics("two hundred concurrent requests each get their own response") { request in
            .text("answer to \(request.path) of \(request.body.count)")
        } verify: { stage in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for index in 0..<200 {
                    group.addTask {
                        let body: TransportRequest.Body = index % 2 == 0 ? .none : .bytes(.megabyte.prefix(index))
                        let request = try stage.request(index % 2 == 0 ? .get : .put, "/\(index)", body: body)
                        let expected = "answer to /\(index) of \(index % 2 == 0 ? 0 : index)"
                        try await stage.expect(status: 200, body: Data(expected.utf8), of: request)
                    }
                }
                try await group.waitForAll()
            }
            try Check.equal(Set(stage.requests.map(\.path)).count, 200, "the number of different requests")
            try Check.equal(stage.requests.count, 200, "the number of requests")
        },
        .semantics("a shutdown ends all requests in progress") { _ in
            .raw([.stall])
        } verify: { stage in
            let request = try stage.request()
            let tasks = (0..<20).map { _ in stage.start(request) }
            try await stage.requests(atLeast: 20)
            await stage.transport.shutdown()
            for task in tasks {
                _ = try await stage.failure(of: task, for: request)
            }
            try await stage.requestsSent(atLeast: 20)
        },
        .semantics("after a shutdown nothing is sent") { _ in
            .text("answer")
        } verify: { stage in
            _ = try await stage.get("/before")
            await stage.transport.shutdown()
            for method in [HTTPMethod.get, .post] {
                _ = try await stage.failure(of: stage.request(method, "/after"))
            }
            try Check.equal(stage.requests.map(\.path), ["/before"], "the received requests")
        },
    ]

    /// A transport keeps no state between requests: the client handles cookies and caching.
    static let memory: [Self] = [
        .semantics("a cacheable response is requested again") { _ in
            .text(
                "fresh",
                headers: ["Cache-Control": "max-age=3600", "ETag": #""1""#, "Date": "Thu, 01 Jan 2099 00:00:00 GMT"])
        } verify: { stage in
            for _ in 0..<3 { _ = try await stage.get() }
            try Check.equal(stage.requests.count, 3, "the number of received requests")
            try Check.equal(stage.requests.compactMap { $0.headers["If-None-Match"] }, [], "If-None-Match")
        },
        .semantics("a 304 to the caller's own condition is returned") { _ in
            .status(304, headers: ["ETag": #""1""#])
        } verify: { stage in
            let request = try stage.request(headers: ["If-None-Match": #""1""#])
            try await stage.expect(status: 304, body: Data(), of: request)
        },
        .semantics("Set-Cookie is returned and not sent back") { _ in
            .status(200, headers: ["Set-Cookie": "a=1; Path=/"])
        } verify: { stage in
            for _ in 0..<2 {
                try Check.equal(try await stage.get().headers["Set-Cookie"], "a=1; Path=/", "Set-Cookie")
            }
            try Check.equal(stage.requests.compactMap { $0.headers["Cookie"] }, [], "the Cookie that arrived")
        },
    ]
}
