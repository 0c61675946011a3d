// SPDX-License-Identifier: MIT

import PulseCore

/// The log lines and blocks for one attempt of a call. Each starts with the call's tag, and all other lines are
/// indented, so that logged data cannot pass for a log line.
struct AttemptText {
    private static let maxHeaders = 100
    private static let maxHeaderLength = 1024
    private static let maxURLLength = 2048

    private let context: PluginContext
    private let options: LoggerPlugin.Options
    private let redaction: Redaction

    init(_ options: LoggerPlugin.Options, _ context: PluginContext) {
        self.options = options
        self.context = context
        let marked = context.call.markedSecrets
        let known = context.call.environment.redaction
        redaction =
            marked.isEmpty && options.sensitiveHeaders.isEmpty
            ? known : known.adding(marked.union(options.sensitiveHeaders))
    }

    // MARK: Lines

    /// `[0a1b2c3d.3] --> POST https://api.example.com/users, 34 bytes (attempt 2, redirect 1)`
    func request(_ request: URLRequest) -> String {
        let counts = [
            context.attempt > 1 ? "attempt \(context.attempt)" : nil, context.hop > 0 ? "redirect \(context.hop)" : nil,
        ].compactMap { $0 }
        return "\(tag) --> \(name(request))" + (bodySize(request).map { ", \($0)" } ?? "")
            + (counts.isEmpty ? "" : " (\(counts.joined(separator: ", ")))")
    }

    /// `[0a1b2c3d] <-- 200 for POST https://api.example.com/users, 512 bytes in 34 ms`
    func outcome(_ result: Result<PulseResponse, PulseError>, _ request: URLRequest, seconds: TimeInterval) -> String {
        let time = LogText.milliseconds(seconds)
        switch result {
        case .success(let response):
            return "\(tag) <-- \(response.statusCode) for \(name(response.request)), "
                + "\(redirect(response))\(response.bodySize.text) in \(time)"
        case .failure(let error):
            return "\(tag) <-- \(name(request)) failed in \(time): \(text(error.description))"
        }
    }

    /// `[0a1b2c3d] <-- the stream of GET https://api.example.com/feed ended after 1200 ms`
    func streamEnd(_ error: PulseError?, _ request: URLRequest, seconds: TimeInterval) -> String {
        let end = error.map { "failed after \(LogText.milliseconds(seconds)): \(text($0.description))" }
        return "\(tag) <-- the stream of \(name(request)) "
            + (end ?? "ended after \(LogText.milliseconds(seconds))")
    }

    /// `[0a1b2c3d] POST https://api.example.com/users 200, 512 bytes in 34 ms, 3 requests, 1 redirect`
    func line(for outcome: CallOutcome, seconds: TimeInterval) -> String {
        let requests = context.forNextRequest.wireAttempt - 1
        let counts =
            (requests > 1 ? ", \(requests) requests" : "")
            + (outcome.hops > 0 ? ", \(LogText.count(outcome.hops, "redirect"))" : "")
        let time = LogText.milliseconds(seconds)
        let (id, method, url) = (LogText.shortID(context.id), method(outcome.request), url(outcome.request))
        switch outcome.end {
        case .response(let status, let size):
            return String(
                joining: "[", id, "] ", method, " ", url, " ", String(status), ", ", size.text, " in ", time, counts)
        case .failure(_, let message):
            return String(
                joining: "[", id, "] ", method, " ", url, " failed in ", time, counts, ": ", text(message))
        }
    }

    // MARK: Blocks

    func requestBlock(_ request: URLRequest) -> String {
        var lines = [self.request(request)]
        let fields = (request.allHTTPHeaderFields ?? [:]).sorted { $0.key < $1.key }
            .map { HTTPHeaders.Field(name: $0.key, value: $0.value) }
        lines += headers(fields)
        if case .inRequest = context.body, let data = request.httpBody {
            lines += body(
                data, contentType: request.value(forHTTPHeaderField: "Content-Type"),
                contentEncoding: request.value(forHTTPHeaderField: "Content-Encoding"))
        }
        if options.includesCurl {
            let command = request.curlCommand(
                body: context.body, redaction: redaction, maxBodyLength: options.maxBodyLength)
            lines += ["", LogText.indented(command)]
        }
        return lines.joined(separator: "\n")
    }

    func outcomeBlock(
        _ result: Result<PulseResponse, PulseError>, _ request: URLRequest, seconds: TimeInterval
    ) -> String {
        let heading = outcome(result, request, seconds: seconds)
        guard case .success(let response) = result else { return heading }
        let lines =
            headers(response.headers)
            + body(
                response.data, contentType: response.headers["Content-Type"],
                contentEncoding: response.headers["Content-Encoding"])
        return ([heading] + lines).joined(separator: "\n")
    }

    // MARK: Parts

    /// The call's short id, and the number of its request unless it is the first.
    private var tag: String {
        "[\(LogText.shortID(context.id))\(context.wireAttempt > 1 ? ".\(context.wireAttempt)" : "")]"
    }

    private func name(_ request: URLRequest) -> String {
        "\(method(request)) \(url(request))"
    }

    private func method(_ request: URLRequest) -> String {
        (request.httpMethod ?? "GET").onOneLine
    }

    private func url(_ request: URLRequest) -> String {
        request.url.map { LogExcerpt(redaction, limit: Self.maxURLLength).url($0) } ?? "(no URL)"
    }

    private func text(_ message: String) -> String {
        LogExcerpt(redaction, limit: Self.maxHeaderLength).text(message)
    }

    /// `redirected to https://…, ` for a response that the client will follow.
    private func redirect(_ response: PulseResponse) -> String {
        guard context.willFollow(response), let location = response.headers["Location"] else { return "" }
        let shown = LogExcerpt(redaction, limit: Self.maxURLLength).headerValue(location, for: "Location")
        return "redirected to \(shown), "
    }

    private func bodySize(_ request: URLRequest) -> String? {
        switch context.body {
        case .inRequest: request.httpBody.map { LogText.count($0.count, "byte") }
        case .file(let url): url.sizeText
        case .stream(let stream): stream.length.map { "a stream of \(LogText.count($0, "byte"))" } ?? "a stream"
        }
    }

    private func headers(_ fields: some Collection<HTTPHeaders.Field>) -> [String] {
        let excerpt = LogExcerpt(redaction, limit: Self.maxHeaderLength)
        let lines = fields.prefix(Self.maxHeaders).map { field in
            "    \(excerpt.text(field.name)): \(excerpt.headerValue(field.value, for: field.name))"
        }
        let left = fields.count - lines.count
        return left > 0 ? lines + ["    … (\(LogText.count(left, "more field")))"] : lines
    }

    private func body(_ data: Data, contentType: String?, contentEncoding: String?) -> [String] {
        guard !data.isEmpty else { return [] }
        let shown = LogExcerpt(redaction, limit: options.maxBodyLength)
            .body(data, contentType: contentType, contentEncoding: contentEncoding)
        return ["", LogText.indented(shown)]
    }
}
