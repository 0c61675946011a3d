// SPDX-License-Identifier: MIT

public import PulseCore

/// Logs requests and responses on the wire, with every secret masked.
///
/// ```swift
/// let logger = LoggerPlugin(options: .init(verbosity: .verbose, includesCurl: true))
/// let client = PulseClient(configuration: configuration, plugins: [.retry(), logger])
/// ```
///
/// Put it last, so that it is innermost: it shows each request as sent, and each response, failure, retry and followed
/// redirect. It does not show responses that never reach it, such as those from the cache, or what the client makes of
/// a response afterwards. The configuration's `logLevel` logs how calls end. It changes nothing, and reads no stream.
///
/// The secret names are those of ``Redaction``, the configuration's `secretHeaders`, the options' `sensitiveHeaders`
/// and the headers that plugins marked: in headers, queries, forms, JSON and multipart bodies alike. Credentials of a
/// known form, such as JSON Web Tokens, are masked under any name. Any other secret in a path, or in a body under
/// another name, is shown.
public struct LoggerPlugin: PulsePlugin {
    private let options: Options
    private let output: @Sendable (String) -> Void

    public var identifier: String { "com.pulse.logger" }
    public var scope: PluginScope { .attempt }

    /// Creates a logger: by default with ``Verbosity/standard``, and silent if PulseKit was built for release.
    public init(options: Options = Options()) {
        self.options = options
        output = options.output ?? LogOutput.system
    }

    public func willSend(_ request: URLRequest, for context: PluginContext) async {
        switch options.verbosity {
        case .none, .minimal: break
        case .standard: output(text(for: context).request(request))
        case .verbose: output(text(for: context).requestBlock(request))
        }
    }

    public func intercept(
        _ request: URLRequest, for context: PluginContext, next: PluginChain
    ) async throws -> PulseResponse {
        guard options.verbosity != .none else { return try await next(request) }
        let start = context.clock.uptime
        let context = context.forNextRequest
        let result = await next.result(request)
        write(result, request, for: context, since: start)
        return try result.get()
    }

    /// Writes the line of a call at ``Verbosity/minimal``: after its last attempt, and for a stream after its end.
    public func didComplete(_ context: PluginContext) async {
        guard options.verbosity == .minimal, let outcome = context.store[CallOutcome.Key.self] else { return }
        output(text(for: context).line(for: outcome, seconds: context.clock.uptime - context.call.startUptime))
    }

    private func write(
        _ result: Result<PulseResponse, PulseError>, _ request: URLRequest, for context: PluginContext,
        since start: TimeInterval
    ) {
        if options.verbosity == .minimal {
            note(CallOutcome(result, request, for: context), in: context)
        } else {
            let text = text(for: context)
            let seconds = context.clock.uptime - start
            output(
                options.verbosity == .verbose
                    ? text.outcomeBlock(result, request, seconds: seconds)
                    : text.outcome(result, request, seconds: seconds))
        }
        guard case .success(let response) = result, let stream = response.bytes else { return }
        let sent = response.request
        stream.onEnd { [self] error in
            if options.verbosity == .minimal {
                guard let error else { return }
                note(CallOutcome(.failure(error), sent, for: context), in: context)
            } else {
                output(text(for: context).streamEnd(error, sent, seconds: context.clock.uptime - start))
            }
        }
    }

    private func note(_ outcome: CallOutcome, in context: PluginContext) {
        if let noted = context.store[CallOutcome.Key.self], !outcome.replaces(noted) { return }
        context.store[CallOutcome.Key.self] = outcome
    }

    private func text(for context: PluginContext) -> AttemptText {
        AttemptText(options, context)
    }
}

extension LoggerPlugin: HookDeclaring {
    package var hooks: PluginHooks {
        switch options.verbosity {
        case .none: []
        case .minimal: .didComplete
        case .standard, .verbose: .willSend
        }
    }
}

extension PulsePlugin where Self == LoggerPlugin {
    /// A ``LoggerPlugin`` with the given options: ``LoggerPlugin/init(options:)``.
    public static func logger(options: LoggerPlugin.Options = LoggerPlugin.Options()) -> LoggerPlugin {
        LoggerPlugin(options: options)
    }
}
