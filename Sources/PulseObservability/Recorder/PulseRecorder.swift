// SPDX-License-Identifier: MIT

public import PulseCore

/// A plugin that keeps the newest calls with their requests and answers, every known secret masked, for a
/// ``PulseReport``, a HAR file or a screen of your own.
///
/// Put it last in the client's plugins, so that it stands innermost: it then sees each request as it is sent and each
/// answer, of attempts, retries and redirects alike. It changes nothing and reads no stream. ``attach(to:)`` lets it
/// record the rest: calls that the cache answers, that fail before they are sent or that cannot be decoded, waits,
/// breakers, the offline queue.
///
/// Secrets are masked before anything is kept: the names of ``Redaction``, the configuration's `secretHeaders`, the
/// options' `sensitiveHeaders` and the headers that plugins marked. Values are known by these names only: a secret in a
/// path, or in a body under a name that says nothing, is kept. One recorder may serve several clients. Safe to use from
/// any thread.
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

    public var identifier: String { "com.pulse.recorder" }
    public var scope: PluginScope { .attempt }

    /// A recorder without calls.
    ///
    /// - Parameter clock: tells when things happened, on one timeline for all clients. How long a call and its requests
    ///   took is measured by the call's own client.
    public init(options: Options = Options(), clock: any PulseClock = .system) {
        self.options = options
        self.clock = clock
        redaction = options.sensitiveHeaders.isEmpty ? .standard : Redaction(secretHeaders: options.sensitiveHeaders)
        state = Locked(
            StateMachine(
                maximumCalls: options.maximumCalls, byteBudget: options.byteBudget,
                maximumEvents: options.maximumEvents))
    }

    deinit {
        detach()
    }

    /// What is kept at this moment, as one consistent value.
    public func recording() -> PulseRecording {
        state.withLock { $0.recording }
    }

    /// Forgets all calls and events.
    public func removeAll() {
        state.withLock { $0.removeAll() }
    }

    // MARK: The plugin

    public func intercept(
        _ request: URLRequest, for context: PluginContext, next: PluginChain
    ) async throws -> PulseResponse {
        let exchange = begin(request, for: context)
        let result = await next.result(request)
        end(exchange, result, request, for: context)
        return try result.get()
    }

    /// The call's end, unless an event tells of it.
    public func didComplete(_ context: PluginContext) async {
        let call = context.call
        let latency = context.clock.uptime - call.root.startUptime
        state.withLock { $0.end(call.root.id, latency: latency, outcome: nil, traceID: call.trace?.id) }
    }

    private struct Exchange {
        let id: UInt64
        /// The uptime of the call's clock.
        let start: TimeInterval
    }

    // Not inlined, as the end is not: their temporaries would take room in the frame of each call.
    @inline(never)
    private func begin(_ request: URLRequest, for context: PluginContext) -> Exchange {
        let call = context.call
        let start = context.clock.uptime
        let outline = capture(for: context).outline(of: request)
        let offset = start - call.root.startUptime
        let (attempt, hop, uptime) = (context.attempt, context.hop, clock.uptime)
        let (path, route) = (shown(call.endpointPath), shown(call.route))
        let startedAt = clock.now.addingTimeInterval(-offset.finite)
        let id = state.withLock { state in
            state.begin(
                RecordedCall(
                    id: call.root.id, endpointPath: path, route: route, method: call.method, host: call.host,
                    startedAt: startedAt),
                id: call.root.id, at: uptime)
            return state.beginExchange(
                call.root.id, attempt: attempt, hop: hop, offset: offset, request: outline)
        }
        return Exchange(id: id, start: start)
    }

    @inline(never)
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
            let answer = capture.response(response)
            let isStreamed = response.bytes != nil
            state.withLock { state in
                state.update(id, exchange: number) { exchange in
                    exchange.request = sent
                    exchange.response = answer
                    if !isStreamed { exchange.duration = seconds }
                }
            }
            response.bytes?.onEnd { [self, clock = context.clock, start = exchange.start] error in
                streamEnded(id, number, error.map { capture.failure($0) }, after: clock.uptime - start)
            }
        case .failure(let error):
            let sent = capture.request(request, body: context.body)
            let (failure, fault) = (capture.failure(error), RecordedFault(error))
            state.withLock { state in
                state.update(id, exchange: number) { exchange in
                    exchange.request = sent
                    exchange.failure = failure
                    exchange.fault = fault
                    exchange.duration = seconds
                }
            }
        }
    }

    private func streamEnded(_ id: UUID, _ exchange: UInt64, _ failure: ErrorSummary?, after seconds: TimeInterval) {
        state.withLock { state in
            state.update(id, exchange: exchange) { exchange in
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
            maximumBodyLength: options.maximumBodyLength, keepsBinaryBodies: options.keepsBinaryBodies)
    }
}

extension PulseRecorder: EndsWithItsCall, TellsItsHooks {
    package var hooks: PluginHooks { .didComplete }
}

extension PulsePlugin where Self == PulseRecorder {
    /// A recorder that you keep yourself, to read it later.
    public static func recorder(_ recorder: PulseRecorder) -> PulseRecorder { recorder }
}
