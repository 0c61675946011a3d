// SPDX-License-Identifier: MIT

public import PulseCore

/// A plugin that records the newest calls with their requests and responses, every known secret masked. For a
/// ``PulseReport``, a HAR file or a custom screen.
///
/// ```swift
/// let recorder = PulseRecorder()
/// let client = PulseClient(configuration: configuration, plugins: [.retry(), .recorder(recorder)])
/// try PulseReport(recorder.recording()).write(to: file)
/// ```
///
/// Put it last in the client's plugins, so that it is the innermost: it then sees each request as it is sent and each
/// response, including attempts, retries and redirects. It changes nothing and reads no stream. ``attach(to:)`` lets it
/// record everything else: calls that the cache serves, that fail before they are sent or that cannot be decoded,
/// waits, breakers, the offline queue.
///
/// Secrets are masked before anything is stored: the names of ``Redaction``, the configuration's `secretHeaders`, the
/// options' `sensitiveHeaders` and the headers that plugins marked. Values are recognized by these names only: a secret
/// in a path, or in a body under an unsuspicious name, is stored. One recorder may serve several clients. Safe to use
/// from any thread.
public final class PulseRecorder: PulsePlugin {
    struct Attachment: Sendable {
        let bus: PulseEventBus
        let sink: RecorderSink
    }

    let options: Options
    let clock: any PulseClock
    let redaction: Redaction
    let state: Locked<StateMachine>
    let attachments = Locked<[Attachment]>([])
    private let changed = Broadcast((), bufferSize: 1)

    /// The recorder of an app's console, with the default limits. Its first use attaches it to
    /// ``PulseEventBus/shared``, so calls that started before are missing. It records headers and bodies of the clients
    /// that have it among their plugins: `.recorder(.shared)`.
    public static let shared: PulseRecorder = {
        let recorder = PulseRecorder()
        recorder.attach(to: .shared)
        return recorder
    }()

    public var identifier: String { "com.pulse.recorder" }
    public var scope: PluginScope { .attempt }

    /// Creates a recorder without calls.
    ///
    /// - Parameter clock: the clock for the times of events, on one timeline for all clients. The durations of a call
    ///   and its requests are measured by the clock of the call's client.
    public init(options: Options = Options(), clock: any PulseClock = .system) {
        self.options = options
        self.clock = clock
        redaction = options.sensitiveHeaders.isEmpty ? .standard : Redaction(secretHeaders: options.sensitiveHeaders)
        state = Locked(
            StateMachine(
                maxCalls: options.maxCalls, byteBudget: options.byteBudget,
                maxEvents: options.maxEvents, since: clock.now))
    }

    deinit {
        detach()
    }

    /// The current content, as one consistent value.
    public func recording() -> PulseRecording {
        state.withLock { $0.recording }
    }

    /// Removes all calls and events. Calls in progress stay removed: their later events are ignored.
    public func removeAll() {
        let now = clock.now
        change { $0.removeAll(at: now) }
    }

    /// A stream that yields after each change of the content, for a screen that shows it. Each access creates a new
    /// stream. Changes while the reader is busy count as one. The stream ends with its reader's task, or with the
    /// recorder.
    public var changes: AsyncStream<Void> { changed.updates(startingWithCurrent: false) }

    /// Changes the content, then notifies the readers of ``changes``.
    func change<Result>(_ body: (inout StateMachine) -> Result) -> Result {
        defer { changed.set(()) }
        return state.withLock(body)
    }

    // MARK: Plugin

    public func intercept(
        _ request: URLRequest, for context: PluginContext, next: PluginChain
    ) async throws -> PulseResponse {
        let exchange = begin(request, for: context)
        let result = await next.result(request)
        end(exchange, result, request, for: context)
        return try result.get()
    }

    /// Ends the call, unless an event has ended it.
    public func didComplete(_ context: PluginContext) async {
        let call = context.call
        let latency = context.clock.uptime - call.root.startUptime
        change { $0.end(call.root.id, latency: latency, outcome: nil, traceID: call.trace?.id) }
    }

    private struct Exchange {
        let id: UInt64
        /// The uptime of the call's clock.
        let start: TimeInterval
    }

    private func begin(_ request: URLRequest, for context: PluginContext) -> Exchange {
        let call = context.call
        let start = context.clock.uptime
        let outline = capture(for: context).outline(of: request)
        let offset = start - call.root.startUptime
        let (attempt, hop, uptime) = (context.attempt, context.hop, clock.uptime)
        let isVirtual = context.clock.isVirtual
        let (path, route) = (shown(call.endpointPath), shown(call.route))
        let startedAt = clock.now.addingTimeInterval(-offset.finite)
        let id = change { state in
            state.begin(
                PulseRecording.Call(
                    id: call.root.id, endpointPath: path, route: route, method: call.method, host: call.host,
                    startedAt: startedAt, isInVirtualTime: isVirtual),
                id: call.root.id, at: uptime)
            return state.beginExchange(
                call.root.id, attempt: attempt, hop: hop, offset: offset, request: outline)
        }
        return Exchange(id: id, start: start)
    }

    private func end(
        _ exchange: Exchange, _ result: Result<PulseResponse, PulseError>, _ request: URLRequest,
        for context: PluginContext
    ) {
        let capture = capture(for: context)
        let (id, number) = (context.call.root.id, exchange.id)
        let seconds = context.clock.uptime - exchange.start
        switch result {
        case .success(let response):
            let sent = capture.request(response.request, body: context.body)
            let received = capture.response(response)
            let isStreamed = response.bytes != nil
            change { state in
                state.update(id, exchange: number) { exchange in
                    exchange.request = sent
                    exchange.response = received
                    if !isStreamed { exchange.duration = seconds }
                }
            }
            response.bytes?.onEnd { [self, clock = context.clock, start = exchange.start] error, count in
                let failure = error.map { capture.failure($0) }
                streamEnded(id, number, failure, bytesRead: count, after: clock.uptime - start)
            }
        case .failure(let error):
            let sent = capture.request(request, body: context.body)
            let (failure, fault) = (capture.failure(error), RecordedFault(error))
            change { state in
                state.update(id, exchange: number) { exchange in
                    exchange.request = sent
                    exchange.failure = failure
                    exchange.fault = fault
                    exchange.duration = seconds
                }
            }
        }
    }

    private func streamEnded(
        _ id: UUID, _ exchange: UInt64, _ failure: PulseError.Summary?, bytesRead: Int, after seconds: TimeInterval
    ) {
        change { state in
            state.update(id, exchange: exchange) { exchange in
                exchange.response?.body.byteCount = Int64(bytesRead)
                exchange.failure = failure
                exchange.duration = seconds
            }
        }
    }

    private func capture(for context: PluginContext) -> ExchangeCapture {
        let marked = context.call.markedSecrets
        let known = context.call.environment.redaction
        return ExchangeCapture(
            marked.isEmpty && options.sensitiveHeaders.isEmpty
                ? known : known.adding(marked.union(options.sensitiveHeaders)),
            maxBodyLength: options.maxBodyLength, keepsBinaryBodies: options.keepsBinaryBodies)
    }
}

extension PulseRecorder: HookDeclaring {
    package var hooks: PluginHooks { .didComplete }
}

extension PulsePlugin where Self == PulseRecorder {
    /// Records into a recorder that the app keeps a reference to, to read it later.
    public static func recorder(_ recorder: PulseRecorder) -> PulseRecorder { recorder }
}
