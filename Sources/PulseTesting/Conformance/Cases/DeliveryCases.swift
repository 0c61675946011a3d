// SPDX-License-Identifier: MIT

import PulseCore
import PulseTesting

extension TransportConformance.Case {
    /// Deliveries. A transport need not support all of them, but must refuse the others before anything is sent.
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
            MockServer.Response.upgrade(headers: ["Upgrade": "own", "Connection": "Upgrade"]) { conversation in
                try await conversation.send(.everyByte)
                if let bytes = try await conversation.receive() { try await conversation.send(bytes) }
            }
        } verify: { stage in
            let headers = ["Upgrade": "own", "Connection": "Upgrade"]
            let request = try stage.request(headers: headers, delivery: .upgrade)
            guard let response = try await stage.responseUnlessRefused(request) else { return }
            try Check.equal(response.statusCode, 101, "the status")
            guard let connection = response.connection else { throw Check.Failure(reason: "there is no connection") }
            var received = Data()
            while received.count < Data.everyByte.count, let bytes = try await connection.read() { received += bytes }
            try Check.equal(received, .everyByte, "the bytes behind the status line and the header fields")
            try await connection.write(Data([1]))
            try Check.equal(try await connection.read(), Data([1]), "the bytes that the server sent back")
            try Check.equal(try await connection.read(), nil, "the end")
            connection.close()
        },
        .semantics("a streamed body arrives whole or is refused unsent") { _ in
            .text("taken")
        } verify: { stage in
            let stream = RequestBody.Stream(length: 512) { ByteStream([.everyByte, Data(), .everyByte]) }
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
