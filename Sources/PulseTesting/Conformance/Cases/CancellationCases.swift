// SPDX-License-Identifier: MIT

import PulseCore
import PulseTesting

extension TransportConformance.Case {
    static let cancellation: [Self] = [
        .semantics("a task cancelled before it starts sends nothing") { _ in
            .text("answer")
        } verify: { stage in
            for index in 0..<10 {
                let request = try stage.request(.get, "/cancelled/\(index)")
                let task = Task { [transport = stage.transport] in
                    withUnsafeCurrentTask { $0?.cancel() }
                    return try await transport.send(request)
                }
                try await ExpectedFailure.kind(.cancelled).verify(stage.failure(of: task, for: request))
            }
            // A request that was sent nevertheless would have arrived before or together with this one.
            _ = try await stage.get("/control")
            try Check.equal(stage.requests.map(\.path), ["/control"], "the received requests")
        },
        .semantics("a cancellation while the server delays ends the wait and the connection") { _ in
            .raw([.stall])
        } verify: { stage in
            let request = try stage.request()
            let task = stage.start(request)
            try await stage.requests(atLeast: 1)
            task.cancel()
            try await ExpectedFailure.kind(.cancelled).verify(stage.failure(of: task, for: request))
            try await stage.requestsSent(atLeast: 1)
        },
        .semantics("a cancellation on a reused connection ends the wait and the connection") { request in
            request.path == "/warm" ? .text("warm") : .raw([.stall])
        } verify: { stage in
            _ = try await stage.get("/warm")
            let request = try stage.request(.get, "/stalls")
            let task = stage.start(request)
            try await stage.requests(atLeast: 2)
            task.cancel()
            try await ExpectedFailure.kind(.cancelled).verify(stage.failure(of: task, for: request))
            try await stage.requestsSent(atLeast: 1)
        },
        .semantics("a cancellation within the body ends the wait and the connection") { _ in
            .data(.everyByte).fault(.stall, at: .body(100))
        } verify: { stage in
            let request = try stage.request(.post, body: .bytes(.everyByte))
            let task = stage.start(request)
            try await stage.requests(atLeast: 1)
            task.cancel()
            try await ExpectedFailure.kind(.cancelled).verify(stage.failure(of: task, for: request))
            try await stage.requestsSent(atLeast: 1)
        },
        .semantics("a cancellation ends only its own request") { request in
            request.path == "/stalls" ? .raw([.stall]) : .text(request.path, headers: ["X-A": "b"])
        } verify: { stage in
            let stalled = try stage.request(.get, "/stalls")
            let tasks = (0..<5).map { _ in stage.start(stalled) }
            try await stage.requests(atLeast: 5)
            let others = try (0..<5).map { stage.start(try stage.request(.get, "/\($0)")) }
            tasks.forEach { $0.cancel() }
            for (index, task) in others.enumerated() {
                try Check.equal(try await task.value.text, "/\(index)", "the response to another request")
            }
            for task in tasks {
                try await ExpectedFailure.kind(.cancelled).verify(stage.failure(of: task, for: stalled))
            }
            try await stage.requestsSent(atLeast: 5)
        },
    ]
}
