// SPDX-License-Identifier: MIT

import PulseCore

extension TransportConformance.Case {
    /// The deliveries. A transport need not support all of them, but must refuse them before anything is sent.
    static let deliveries: [Self] = [
        .semantics("a streamed delivery arrives whole or is refused unsent") { _ in
            .data(.everyByte)
        } verify: { stage in
            guard let response = try await stage.responseUnlessRefused(stage.request(delivery: .streamed)) else {
                return
            }
            guard let bytes = response.bytes else { throw Check.Failure(reason: "there is no stream") }
            var received = Data()
            for try await chunk in bytes { received.append(chunk) }
            try Check.equal(received, .everyByte, "the streamed body")
        },
        .semantics("a delivery to a file arrives whole or is refused unsent") { _ in
            .data(.everyByte)
        } verify: { stage in
            try await TemporaryFile.with(Data()) { file in
                let request = try stage.request(delivery: .file(file, resumeOffset: 0))
                guard let response = try await stage.responseUnlessRefused(request) else { return }
                try Check.equal(response.file, file, "the file of the response")
                try Check.equal(try Data(contentsOf: file), .everyByte, "the body in the file")
            }
        },
        .semantics("an upgrade is made or is refused unsent") { _ in
            MockServer.Response.upgrade(headers: ["Upgrade": "own", "Connection": "Upgrade"]) { _ in }
        } verify: { stage in
            let headers = ["Upgrade": "own", "Connection": "Upgrade"]
            let request = try stage.request(headers: headers, delivery: .upgrade)
            guard let response = try await stage.responseUnlessRefused(request) else { return }
            try Check.equal(response.statusCode, 101, "the status")
        },
        .semantics("a streamed body arrives whole or is refused unsent") { _ in
            .text("taken")
        } verify: { stage in
            let stream = BodyStream(length: 512) { ByteStream([.everyByte, Data(), .everyByte]) }
            let request = try stage.request(.put, body: .stream(stream))
            guard try await stage.responseUnlessRefused(request) != nil else { return }
            let sent = Data.everyByte + Data.everyByte
            try Check.equal(stage.onlyRequest().body, sent, "the body that arrived")
        },
    ]
}

extension ConformanceStage {
    /// The response; nil if the transport does not support the delivery and sent nothing.
    fileprivate func responseUnlessRefused(_ request: TransportRequest) async throws -> PulseResponse? {
        do {
            return try await transport.send(request)
        } catch {
            try ExpectedFailure.kind(.unsupported).verify(PulseError(wrapping: error))
            let activity = server.activity
            try Check.equal(
                activity.requests.count + activity.incompleteRequests.count, 0, "the number of received requests")
            return nil
        }
    }
}
