// SPDX-License-Identifier: MIT

public import PulseCore
import PulseStorage

/// Sends the bodies of requests as gzip (RFC 9110, section 8.4), if that is smaller, and says so in `Content-Encoding`.
/// A body whose first 256 KiB hardly shrink stays as it is.
///
/// It works once for each call and hop, outside the retry loop. Plugins further in see the compressed body, so that
/// signatures cover what is sent. The server must understand gzip in requests, and few do without being set up for it.
/// So the plugin compresses at home only, or everywhere if the client has neither a base URL nor trusted origins.
///
/// Bodies below `minimumLength` stay as they are, and so do those with a `Content-Encoding`, a `Content-Range` or a
/// digest of their own. A file is compressed into a temporary one first, so that its length is known and an attempt can
/// be repeated; it is removed when the call has its answer. A stream stays as it is unless `includesStreams` is set,
/// since its length would no longer be known and it would be sent chunked, which not every server takes.
///
/// Where the system has no compression, requests pass untouched, and a ``NetworkEvent/warning(_:)`` says so once.
public struct CompressionPlugin: PulsePlugin {
    private let minimumLength: Int
    private let includesStreams: Bool
    private let compressor: BodyCompressor?
    private let missingWarning = OneWarning(
        "CompressionPlugin compresses nothing: there is no zlib, which libcurl brings along")

    public var identifier: String { "com.pulse.compression" }
    public var scope: PluginScope { .call }

    /// A plugin that compresses bodies from that length on.
    ///
    /// - Parameter minimumLength: in bytes, 1 KiB by default: a smaller body fits a packet either way.
    /// - Parameter includesStreams: compresses streams as well, and multipart bodies with files, which are streams.
    ///   False by default.
    public init(minimumLength: Int = 1024, includesStreams: Bool = false) {
        self.init(minimumLength: minimumLength, includesStreams: includesStreams, make: SystemDeflate.make)
    }

    init(minimumLength: Int, includesStreams: Bool, make: MakeRawDeflate?) {
        self.minimumLength = minimumLength
        self.includesStreams = includesStreams
        compressor = make.map { BodyCompressor(make: $0) }
    }

    /// Sends the request with its body compressed, if that is smaller. Throws what the rest of the chain throws, and
    /// ``PulseError/transport(_:underlying:)`` for a file that cannot be read or a temporary one that cannot be
    /// written.
    public func intercept(
        _ request: URLRequest, for context: PluginContext, next: PluginChain
    ) async throws -> PulseResponse {
        guard isCandidate(request, context) else { return try await next(request) }
        guard let compressor else {
            missingWarning.emit(in: context)
            return try await next(request)
        }
        return try await compress(request, by: compressor, for: context, next: next)
    }

    // Not inlined: its temporaries would take room in the frame of a call that has nothing to compress.
    @inline(never)
    private func compress(
        _ request: URLRequest, by compressor: BodyCompressor, for context: PluginContext, next: PluginChain
    ) async throws -> PulseResponse {
        switch context.body {
        case .inRequest:
            guard let body = request.httpBody,
                let bytes = try await compressor.compressed(body, cancellation: context.call.cancellation)
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
            let body = BodySource.stream(compressor.compressed(stream))
            return try await next(Self.coded(request), context: context.with(body: body))
        }
    }

    /// Whether there is anything to gain. The headers are looked at last, as that takes longest.
    private func isCandidate(_ request: URLRequest, _ context: PluginContext) -> Bool {
        isLongEnough(request, context.body) && mayGoCoded(request, context)
    }

    private func isLongEnough(_ request: URLRequest, _ body: BodySource) -> Bool {
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

    /// Headers that describe the body: each would be wrong for other bytes.
    private static let bodyHeaders = [
        "Content-Encoding", "Content-Range", "Content-MD5", "Content-Digest", "Repr-Digest", "Digest",
    ]

    private static func coded(_ request: URLRequest) -> URLRequest {
        var coded = request
        // The request's length is that of the body as it was.
        coded.setHeaders([("Content-Encoding", "gzip"), ("Content-Length", nil)])
        return coded
    }

    private func temporaryFile(
        of url: URL, _ compressor: BodyCompressor, _ context: PluginContext
    ) async throws -> URL? {
        do {
            return try await compressor.compressed(url, cancellation: context.call.cancellation)
        } catch let error where !(error is CancellationError || error is PulseError) {
            throw TransportFailure(code: .cannotOpenFile, phase: .beforeSend, underlying: error)
        }
    }
}

// It waits only for its own work, which the call's end cancels.
extension CompressionPlugin: EndsWithItsCall, TellsItsHooks {}

extension PluginContext {
    fileprivate func with(body: BodySource) -> PluginContext {
        var copy = self
        copy.body = body
        return copy
    }
}

extension PulsePlugin where Self == CompressionPlugin {
    /// A ``CompressionPlugin`` for bodies from that length on:
    /// ``CompressionPlugin/init(minimumLength:includesStreams:)``.
    public static func compression(minimumLength: Int = 1024, includesStreams: Bool = false) -> CompressionPlugin {
        CompressionPlugin(minimumLength: minimumLength, includesStreams: includesStreams)
    }
}
