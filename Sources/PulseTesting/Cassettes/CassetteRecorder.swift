// SPDX-License-Identifier: MIT

public import PulseCore
internal import PulseObservability

/// Wraps a transport and records its traffic for a ``Cassette``. Every known secret is masked: the standard names,
/// those in the client's configuration, and those that a plugin has marked.
///
/// ```swift
/// let recorder = CassetteRecorder(around: StandardTransport(), secretHeaders: ["X-Session"])
/// let client = PulseClient(configuration: configuration, transport: recorder)
/// try recorder.cassette.write(to: file)                        // after the calls
/// ```
///
/// Bodies are kept whole, streams as far as they were read; bodies that are not text are not masked. Only the size is
/// kept of request bodies that are content-coded, files or streams, and of multipart responses with parts that are not
/// text; playing such a response fails. Cancelled requests are not kept. Safe from any thread.
public final class CassetteRecorder: Transport {
    private let transport: any Transport
    private let clock: any PulseClock
    private let capture: ExchangeCapture
    /// The entries in the order of the requests; nil while the response is pending.
    private let entries = Locked<[HARDocument.Entry?]>([])

    /// Creates a recorder around a transport.
    ///
    /// - Parameter transport: shut down together with the recorder.
    /// - Parameter secretHeaders: names to mask in addition to the known ones, in headers, query items, form fields and
    ///   JSON keys alike.
    /// - Parameter clock: the clock for the times on the cassette.
    public init(
        around transport: any Transport, secretHeaders: Set<String> = [], clock: any PulseClock = .system
    ) {
        self.transport = transport
        self.clock = clock
        capture = .cassette(secretHeaders: secretHeaders)
    }

    public var capabilities: TransportCapabilities { transport.capabilities }

    /// The finished requests so far, in the order in which they were sent.
    public var cassette: Cassette {
        Cassette(HARDocument(entries: entries.withLock { $0.compactMap { $0 } }))
    }

    public func send(_ request: TransportRequest) async throws -> PulseResponse {
        let place = entries.withLock { entries in
            entries.append(nil)
            return entries.count - 1
        }
        let (date, start) = (clock.now, clock.uptime)
        let capture = capture.masking(request.redaction)
        let take = Take(
            capture: capture, request: capture.request(request.urlRequest, body: PluginContext.Body(request.body)),
            date: date)
        do {
            var response = try await transport.send(request)
            if let stream = response.bytes {
                response.body = .stream(record(stream, of: response, take, at: place, since: start))
            } else {
                let data = Self.downloaded(response, as: request.delivery)
                keep(take.entry(response, data: data, seconds: clock.uptime - start), at: place)
            }
            return response
        } catch {
            let failure = PulseError(wrapping: error, request: request.urlRequest)
            if failure.kind != .cancelled {
                keep(take.entry(failure, seconds: clock.uptime - start), at: place)
            }
            throw error
        }
    }

    public func shutdown() async {
        await transport.shutdown()
    }

    /// The bytes that the response added to its file; nil without a file, or if it cannot be read.
    private static func downloaded(_ response: PulseResponse, as delivery: TransportRequest.Delivery) -> Data? {
        guard let file = response.file, let data = try? Data(contentsOf: file) else { return nil }
        guard case .file(_, let offset) = delivery, response.statusCode == 206 else { return data }
        return Data(data.dropFirst(Int(clamping: max(0, offset))))
    }

    private func keep(_ entry: HARDocument.Entry, at place: Int) {
        entries.withLock { $0[place] = entry }
    }

    /// Wraps the stream to record its chunks as they are read.
    private func record(
        _ stream: ByteStream, of response: PulseResponse, _ take: Take, at place: Int, since start: TimeInterval
    ) -> ByteStream {
        let read = Locked(Data())
        var head = response
        // Without the stream, which would retain itself.
        head.data = Data()
        let source = Locked(stream.makeAsyncIterator())
        let recorded = ByteStream {
            var iterator = source.withLock { $0 }
            let chunk = try await iterator.next()
            if let chunk { read.withLock { $0.append(chunk) } }
            return chunk
        } cancel: {
            stream.cancel()
        }
        recorded.trailersAtEnd = stream.trailersAtEnd
        recorded.onEnd { [self, head] error in
            // A stream that its reader abandoned did not fail.
            let failure = error.flatMap { $0.kind == .cancelled ? nil : $0 }
            keep(
                take.entry(
                    head, data: read.withLock { $0 }, failure, isTruncated: error != nil, seconds: clock.uptime - start),
                at: place)
        }
        return recorded
    }
}

/// A request whose response is pending.
private struct Take: Sendable {
    let capture: ExchangeCapture
    let request: PulseRecording.Exchange.Request
    let date: Date

    func entry(
        _ response: PulseResponse, data: Data?, _ failure: PulseError? = nil, isTruncated: Bool = false,
        seconds: TimeInterval
    ) -> HARDocument.Entry {
        entry(
            PulseRecording.Exchange(
                id: 0, request: request, response: capture.response(response, data: data, isTruncated: isTruncated),
                failure: failure.map { capture.failure($0) }, duration: seconds,
                fault: failure.flatMap { RecordedFault($0) }))
    }

    func entry(_ error: PulseError, seconds: TimeInterval) -> HARDocument.Entry {
        entry(
            PulseRecording.Exchange(
                id: 0, request: request, response: nil, failure: capture.failure(error), duration: seconds,
                fault: RecordedFault(error)))
    }

    private func entry(_ exchange: PulseRecording.Exchange) -> HARDocument.Entry {
        var entry = HARDocument.Entry(exchange, startedAt: date)
        entry._pulse = nil
        return entry
    }
}
