// SPDX-License-Identifier: MIT

import PulseCore
import PulseTesting

extension TransportConformance.Case {
    /// Servers that send without end, and many concurrent requests.
    static let floods: [Self] = [
        .wire("a thousand concurrent requests share the permitted connections", connections: 100) { request in
            .text(request.path)
        } verify: { stage in
            let peak = try await stage.mostConnections {
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for index in 0..<1000 {
                        group.addTask {
                            try Check.equal(try await stage.get("/\(index)").text, "/\(index)", "the response")
                        }
                    }
                    try await group.waitForAll()
                }
            }
            try Check.that(peak <= 100, "there were \(peak) connections at a time, not 100 at most")
            try Check.equal(Set(stage.requests.map(\.path)).count, 1000, "the number of different requests")
        },
        .wire(
            "an endless status line is an error",
            response: .raw([.text("HTTP/1.1 200 "), .repeating(Data(flood.utf8), times: nil)]), fails: .badResponse),
        .wire(
            "endless header fields are an error",
            response: .raw([.text("HTTP/1.1 200 OK\r\n"), .repeating(Data("X-Flood: \(flood)\r\n".utf8), times: nil)]),
            fails: .badResponse),
        .wire(
            "an endless header field is an error",
            response: .raw([.text("HTTP/1.1 200 OK\r\nX-Flood: "), .repeating(Data(flood.utf8), times: nil)]),
            fails: .badResponse),
        .wire(
            "endless interim responses are an error",
            response: .raw([.repeating(Data("HTTP/1.1 103 Early Hints\r\nLink: \(flood)\r\n\r\n".utf8), times: nil)]),
            fails: .badResponse),
    ]

    private static let flood = String(repeating: "0123456789", count: 100)

    /// Cases for transports that deliver streams and files; the cases of deliveries show which do.
    static let streams: [Self] = [
        .wire("an abandoned stream closes the connection") { _ in
            MockServer.Response(body: .repeating(.everyByte, times: nil), framing: .chunked())
        } verify: { stage in
            guard let bytes = try await stage.stream() else { return }
            var count = 0
            for try await chunk in bytes {
                count += chunk.count
                if count > 1000 { break }
            }
            try await stage.requestsSent(atLeast: 1)
        },
        .wire("a truncated stream ends with an error after the received bytes") { _ in
            .data(.everyByte).truncated(after: 100)
        } verify: { stage in
            guard let bytes = try await stage.stream() else { return }
            let (received, error) = await stage.read(bytes)
            try Check.equal(received, Data.everyByte.prefix(100), "the received bytes")
            let lost = ExpectedFailure.transport(.networkConnectionLost, .responseStarted)
            try lost.verify(Check.some(error, "the stream ended well"))
        },
        .wire("a stream that stalls ends with a timeout") { _ in
            .data(.everyByte).fault(.stall, at: .body(100))
        } verify: { stage in
            for seconds in [0.3, 2, 8, 20] as [TimeInterval] {
                let response: PulseResponse
                do {
                    response = try await stage.transport.send(
                        stage.request(delivery: .streamed, idleTimeout: seconds))
                } catch let failure as TransportFailure where failure.code == .timedOut {
                    // Before the header fields: on a busy machine the server has not run yet.
                    continue
                } catch {
                    return try ExpectedFailure.kind(.unsupported).verify(PulseError(wrapping: error))
                }
                let (_, error) = await stage.read(try Check.some(response.bytes, "there is no stream"))
                return try ExpectedFailure.transport(.timedOut).verify(Check.some(error, "the stream ended well"))
            }
            throw Check.Failure(reason: "no response arrived in time")
        },
        .wire("an error status in place of a stream is buffered and truncated at 64 KiB") { _ in
            .data(.megabyte, status: 500)
        } verify: { stage in
            guard let response = try await stage.responseIfSupported(stage.request(delivery: .streamed)) else {
                return
            }
            try Check.equal(response.statusCode, 500, "the status")
            try Check.that(response.bytes == nil, "there is a stream")
            try Check.equal(response.data, Data.megabyte.prefix(64 << 10), "the body")
            try Check.that(response.isTruncated, "it is not marked as truncated")
            try Check.equal(try await stage.get().statusCode, 500, "the next response")
        },
        .wire("an error status in place of a download does not change the file") { _ in
            .text("not here", status: 404)
        } verify: { stage in
            try await TemporaryFile.with(.everyByte) { file in
                let request = try stage.request(delivery: .file(file, resumeOffset: 0))
                guard let response = try await stage.responseIfSupported(request) else { return }
                try Check.equal(response.statusCode, 404, "the status")
                try Check.equal(try Data(contentsOf: file), .everyByte, "the file")
            }
        },
        .wire("a part is written to the file at its offset, and a whole body from the start") { request in
            request.path == "/part"
                ? .text("part", status: 206, headers: ["Content-Range": "bytes 5-8/9"]) : .text("whole")
        } verify: { stage in
            try await TemporaryFile.with(Data("0123456789".utf8)) { file in
                let part = try stage.request(.get, "/part", delivery: .file(file, resumeOffset: 5))
                guard try await stage.responseIfSupported(part) != nil else { return }
                try Check.equal(try Data(contentsOf: file), Data("01234part".utf8), "the file with a part")
                _ = try await stage.send(stage.request(.get, "/whole", delivery: .file(file, resumeOffset: 5)))
                try Check.equal(try Data(contentsOf: file), Data("whole".utf8), "the file with the whole body")
            }
        },
        .wire("a stream that begins before the request's body has ended continues") { _ in
            .raw([.text("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n12"), .delay(0.05), .text("345"), .close])
        } verify: { stage in
            let stream = RequestBody.Stream(length: nil) { ByteStream([.everyByte, .everyByte]) }
            let request = try stage.request(.post, body: .stream(stream), delivery: .streamed)
            guard let response = try await stage.responseIfSupported(request) else { return }
            let (received, error) = await stage.read(try Check.some(response.bytes, "there is no stream"))
            try Check.equal(received, Data("12345".utf8), "the body")
            try Check.that(error == nil, "it ended with \(error.map { "\($0)" } ?? "")")
        },
        .wire("a part at another offset than requested is not written to the file") { _ in
            .text("part", status: 206, headers: ["Content-Range": "bytes 7-10/20"])
        } verify: { stage in
            try await TemporaryFile.with(Data("0123456789".utf8)) { file in
                let request = try stage.request(delivery: .file(file, resumeOffset: 5))
                let error = try await stage.failure(of: request)
                if error.kind == .unsupported { return }
                try ExpectedFailure.transport(.badServerResponse, .responseStarted).verify(error)
                try Check.equal(try Data(contentsOf: file), Data("0123456789".utf8), "the file")
            }
        },
        .wire("a failed expectation is returned after one request") { _ in
            .status(417)
        } verify: { stage in
            let request = try stage.request(
                .post, headers: ["Expect": "100-continue"], body: .bytes(.megabyte), idleTimeout: 10)
            try Check.equal(try await stage.send(request).statusCode, 417, "the status")
        },
        .wire("a 304 has no body, whatever its Content-Length") { _ in
            .raw([.text("HTTP/1.1 304 Not Modified\r\nContent-Length: 1000000\r\n\r\n"), .close])
        } verify: { stage in
            let request = try stage.request(delivery: .buffered(limit: 10))
            try await stage.expect(status: 304, body: Data(), of: request)
        },
        .wire("a header line that takes longer than the idle timeout arrives if bytes keep coming") { request in
            [2, 5, 8, 11, 14].reduce(.text("ok")) { $0.fault(.delay(request.gap), at: .head($1)) }
        } verify: { stage in
            try await stage.expectSlowly("ok")
        },
        .wire("a body stream with a wrong length fails, and the next request is intact") { _ in
            .text("taken")
        } verify: { stage in
            for length in [100, 1000] as [Int64] {
                let stream = RequestBody.Stream(length: length) { ByteStream([.everyByte]) }
                let request = try stage.request(.put, body: .stream(stream))
                do {
                    _ = try await stage.transport.send(request)
                    throw Check.Failure(reason: "a body of 256 bytes passed for \(length)")
                } catch let failure as Check.Failure {
                    throw failure
                } catch {
                    let error = PulseError(wrapping: error)
                    // The header fields may have been sent: a retry of unsent requests must not resend this one.
                    if error.kind != .unsupported {
                        try ExpectedFailure.transport(.requestBodyStreamExhausted, .maybeSent).verify(error)
                    }
                }
                try Check.equal(try await stage.get().text, "taken", "the next response")
            }
            try Check.equal(Set(stage.requests.map(\.method)), [.get], "the received methods")
        },
        .wire("a body stream that fails fails the request with its error") { _ in
            .text("taken")
        } verify: { stage in
            for length in [512, nil] as [Int64?] {
                let request = try stage.request(.put, body: .stream(.of(.everyByte, length: length) { throw Broken() }))
                let error = try await stage.failure(of: request)
                if error.kind == .unsupported { return }
                try Check.that(error.isBroken, "the error is \(error), not the stream's")
            }
        },
        .wire("a body stream without a length that fails or is cancelled is not a complete request") { _ in
            .text("taken")
        } verify: { stage in
            // More than local buffers hold, so that a part has been sent.
            let parts = Data.megabyte + Data.megabyte
            let failing = try stage.request(.post, body: .stream(.of(parts, length: nil) { throw Broken() }))
            let error = try await stage.failure(of: failing)
            if error.kind == .unsupported { return }
            try Check.that(error.isBroken, "the error is \(error), not the stream's")
            try await stage.requestsSent(atLeast: 1)

            let (reached, reach) = AsyncStream<Void>.makeStream()
            let body = RequestBody.Stream.of(parts, length: nil) {
                reach.finish()
                try await Task.sleep(nanoseconds: 60_000_000_000)
            }
            let request = try stage.request(.post, body: .stream(body))
            let task = stage.start(request)
            for await _ in reached {}
            task.cancel()
            try await ExpectedFailure.kind(.cancelled).verify(stage.failure(of: task, for: request))
            try await stage.requestsSent(atLeast: 2)
            try Check.equal(stage.requests.count, 0, "the number of complete requests")
        },
    ]
}

private struct Broken: Error {}

extension PulseError {
    fileprivate var isBroken: Bool {
        if case .custom(let cause) = self { cause is Broken } else { false }
    }
}

extension RequestBody.Stream {
    /// A body of these bytes that runs `end` before it ends.
    fileprivate static func of(
        _ bytes: Data, length: Int64?, end: @escaping @Sendable () async throws -> Void
    ) -> RequestBody.Stream {
        RequestBody.Stream(length: length) {
            let parts = Locked([bytes])
            return ByteStream(next: {
                if let part = parts.withLock({ $0.popLast() }) { return part }
                try await end()
                return nil
            })
        }
    }
}

extension ConformanceStage {
    /// The response; nil if the transport does not support the delivery.
    func responseIfSupported(_ request: TransportRequest) async throws -> PulseResponse? {
        do {
            return try await transport.send(request)
        } catch {
            try ExpectedFailure.kind(.unsupported).verify(PulseError(wrapping: error))
            return nil
        }
    }

    fileprivate func stream() async throws -> ByteStream? {
        let request = try request(delivery: .streamed, idleTimeout: 60)
        guard let response = try await responseIfSupported(request) else { return nil }
        return try Check.some(response.bytes, "there is no stream")
    }

    fileprivate func read(_ bytes: ByteStream) async -> (Data, PulseError?) {
        var received = Data()
        do {
            for try await chunk in bytes { received.append(chunk) }
            return (received, nil)
        } catch {
            return (received, PulseError(wrapping: error))
        }
    }
}

extension Check {
    static func some<Value>(_ value: Value?, _ reason: @autoclosure () -> String) throws -> Value {
        guard let value else { throw Failure(reason: reason()) }
        return value
    }
}
