// SPDX-License-Identifier: MIT

public import PulseCore

/// Compresses request bodies with gzip (RFC 9110, section 8.4) if that makes them smaller, and sets `Content-Encoding`.
/// A body whose first 256 KiB hardly shrink is sent unchanged.
///
/// ```swift
/// let compression = CompressionPlugin(minimumLength: 2048)
/// let client = PulseClient(configuration: configuration, plugins: [compression])
/// ```
///
/// It runs once for each call and hop, outside the retry loop. Inner plugins see the compressed body, so that
/// signatures cover the bytes sent. The server must accept gzip in requests, which few do by default. So the plugin
/// compresses for home origins only, or for all origins if the client has neither a base URL nor trusted origins.
///
/// Bodies below `minimumLength` are sent unchanged, as are those with a `Content-Encoding`, a `Content-Range` or a
/// digest header. A file is compressed into a temporary file first, so that its length is known and an attempt can be
/// retried; the file is removed when the call has its response. A stream is sent unchanged unless `includesStreams` is
/// set: its length would be unknown, and not every server accepts chunked requests.
///
/// Where the system has no compression, requests pass unchanged, and a ``NetworkEvent/warning(_:)`` reports that once.
public struct CompressionPlugin: PulsePlugin {
    private let minimumLength: Int
    private let includesStreams: Bool
    private let compressor: BodyCompressor?
    private static let missingWarning =
        "CompressionPlugin compresses nothing: the system has no compression library (on Linux, libz.so.1)"

    public var identifier: String { "com.pulse.compression" }
    public var scope: PluginScope { .call }

    /// Creates a plugin that compresses bodies of at least the given length.
    ///
    /// - Parameter minimumLength: in bytes, 1 KiB by default: a smaller body fits into one packet anyway.
    /// - Parameter includesStreams: also compresses streams, including multipart bodies with files. False by default.
    public init(minimumLength: Int = 1024, includesStreams: Bool = false) {
        self.init(minimumLength: minimumLength, includesStreams: includesStreams, make: SystemRawDeflate.make)
    }

    init(minimumLength: Int, includesStreams: Bool, make: MakeRawDeflate?) {
        self.minimumLength = minimumLength
        self.includesStreams = includesStreams
        compressor = make.map { BodyCompressor(make: $0) }
    }

    /// Sends the request with a compressed body, if that is smaller. Throws the errors of the rest of the chain, and
    /// ``PulseError/transport(_:underlying:)`` for a file that cannot be read or a temporary file that cannot be
    /// written.
    public func intercept(
        _ request: URLRequest, for context: PluginContext, next: PluginChain
    ) async throws -> PulseResponse {
        guard isCandidate(request, context) else { return try await next(request) }
        guard let compressor else {
            context.call.environment.warnOnce(Self.missingWarning)
            return try await next(request)
        }
        return try await compress(request, by: compressor, for: context, next: next)
    }

    private func compress(
        _ request: URLRequest, by compressor: BodyCompressor, for context: PluginContext, next: PluginChain
    ) async throws -> PulseResponse {
        switch context.body {
        case .inRequest:
            guard let body = request.httpBody,
                let bytes = try await compressor.compressed(body)
            else { return try await next(request) }
            var coded = Self.coded(request)
            coded.httpBody = bytes
            return try await next(coded)
        case .file(let url):
            guard let target = try await temporaryFile(of: url, compressor, context) else {
                return try await next(request)
            }
            defer { try? FileManager.default.removeItem(at: target) }
            return try await next(Self.coded(request), context: context.with(body: .file(target)))
        case .stream(let stream):
            let body = PluginContext.Body.stream(compressor.compressed(stream))
            return try await next(Self.coded(request), context: context.with(body: body))
        }
    }

    /// Whether compression may help. The header check comes last, since it takes longest.
    private func isCandidate(_ request: URLRequest, _ context: PluginContext) -> Bool {
        isLongEnough(request, context.body) && mayGoCoded(request, context)
    }

    private func isLongEnough(_ request: URLRequest, _ body: PluginContext.Body) -> Bool {
        switch body {
        case .inRequest: length(of: request) >= max(1, minimumLength)
        case .file(let url):
            (try? url.resolvingSymlinksInPath().resourceValues(forKeys: [.fileSizeKey]).fileSize)
                .map { $0 >= max(1, minimumLength) } ?? false
        case .stream(let stream): includesStreams && (stream.length.map { $0 >= minimumLength } ?? true)
        }
    }

    private func length(of request: URLRequest) -> Int { request.httpBody?.count ?? 0 }

    private func mayGoCoded(_ request: URLRequest, _ context: PluginContext) -> Bool {
        guard let url = request.url, context.isTrusted(url) || context.call.environment.home.isEmpty else {
            return false
        }
        return (request.allHTTPHeaderFields ?? [:]).keys.allSatisfy { name in
            !Self.bodyHeaders.contains { $0.equalsIgnoringASCIICase(name) }
        }
    }

    /// Headers that describe the body: with other bytes they would be wrong.
    private static let bodyHeaders = [
        "Content-Encoding", "Content-Range", "Content-MD5", "Content-Digest", "Repr-Digest", "Digest",
    ]

    private static func coded(_ request: URLRequest) -> URLRequest {
        var coded = request
        // The request's `Content-Length` describes the uncompressed body.
        coded.setHeaders([("Content-Encoding", "gzip"), ("Content-Length", nil)])
        return coded
    }

    private func temporaryFile(
        of url: URL, _ compressor: BodyCompressor, _ context: PluginContext
    ) async throws -> URL? {
        do {
            return try await compressor.compressed(url)
        } catch let error where !(error is CancellationError || error is PulseError) {
            throw TransportFailure(code: .cannotOpenFile, phase: .beforeSend, underlying: FileFault.naming(error, url))
        }
    }
}

// Waits only for its own work, which the call's end cancels.
extension CompressionPlugin: HookDeclaring {}

extension PluginContext {
    fileprivate func with(body: Body) -> PluginContext {
        var copy = self
        copy.body = body
        return copy
    }
}

extension PulsePlugin where Self == CompressionPlugin {
    /// A ``CompressionPlugin`` for bodies of at least the given length:
    /// ``CompressionPlugin/init(minimumLength:includesStreams:)``.
    public static func compression(minimumLength: Int = 1024, includesStreams: Bool = false) -> CompressionPlugin {
        CompressionPlugin(minimumLength: minimumLength, includesStreams: includesStreams)
    }
}
