// SPDX-License-Identifier: MIT

extension RequestOptions {
    /// The fields in a box, with the names and types of the options.
    struct Fields: Sendable {
        var headers: [String: String]?
        var timeout: TimeInterval?
        var connectTimeout: TimeInterval?
        var poolTimeout: TimeInterval?
        var deadline: TimeInterval?
        var retry: RetryPolicy?
        var auth: Auth?
        var cache: Cache?
        var coalesces: Bool?
        var idempotencyKey: IdempotencyKey?
        var tag: String?
        var route: String?
        var priority: Priority?
        var acceptedStatuses: AcceptedStatuses?
        var decoder: (any ResponseDecoder)?
        var encoder: (any RequestEncoder)?
        var redirectPolicy: RedirectPolicy?
        var maxBufferedBodySize: Int?
        var queuesBehindPending: Bool?
        var waitsForConnectivity: Bool?
        var allowsExpensiveNetworkAccess: Bool?
        var allowsConstrainedNetworkAccess: Bool?
        var assumesHTTP3Capable: Bool?
        var networkServiceType: URLRequest.NetworkServiceType?
        var progress: (@Sendable (TransferProgress) -> Void)?
    }

    final class Box: Sendable {
        let fields: Fields
        /// Nil for JSON with Foundation's defaults. Computed once, since most calls share the options of their client.
        let ownDecoder: (any ResponseDecoder)?

        init(_ fields: Fields) {
            self.fields = fields
            ownDecoder = fields.decoder?.unlessPlainJSON
        }
    }

    /// Whether no field is set.
    package var isEmpty: Bool { box == nil }

    var fields: Fields {
        get { box?.fields ?? Fields() }
        set { box = Box(newValue) }
    }

    /// Fills nil fields from `base`; headers are merged by name.
    package mutating func inherit(_ base: RequestOptions) {
        guard let other = base.box else { return }
        guard let box else { return self = base }
        var merged = box.fields
        merged.inherit(other.fields)
        fields = merged
    }
}

extension RequestOptions.Fields {
    fileprivate mutating func inherit(_ base: Self) {
        if let headers = base.headers { self.headers = headers.overridden(by: self.headers ?? [:]) }
        if timeout == nil { timeout = base.timeout }
        if connectTimeout == nil { connectTimeout = base.connectTimeout }
        if poolTimeout == nil { poolTimeout = base.poolTimeout }
        if deadline == nil { deadline = base.deadline }
        if retry == nil { retry = base.retry }
        if auth == nil { auth = base.auth }
        if cache == nil { cache = base.cache }
        if coalesces == nil { coalesces = base.coalesces }
        if idempotencyKey == nil { idempotencyKey = base.idempotencyKey }
        if tag == nil { tag = base.tag }
        if route == nil { route = base.route }
        if priority == nil { priority = base.priority }
        if acceptedStatuses == nil { acceptedStatuses = base.acceptedStatuses }
        if decoder == nil { decoder = base.decoder }
        if encoder == nil { encoder = base.encoder }
        if redirectPolicy == nil { redirectPolicy = base.redirectPolicy }
        if maxBufferedBodySize == nil { maxBufferedBodySize = base.maxBufferedBodySize }
        if queuesBehindPending == nil { queuesBehindPending = base.queuesBehindPending }
        if waitsForConnectivity == nil { waitsForConnectivity = base.waitsForConnectivity }
        if allowsExpensiveNetworkAccess == nil { allowsExpensiveNetworkAccess = base.allowsExpensiveNetworkAccess }
        if allowsConstrainedNetworkAccess == nil {
            allowsConstrainedNetworkAccess = base.allowsConstrainedNetworkAccess
        }
        if assumesHTTP3Capable == nil { assumesHTTP3Capable = base.assumesHTTP3Capable }
        if networkServiceType == nil { networkServiceType = base.networkServiceType }
        if progress == nil { progress = base.progress }
    }
}

extension RequestOptions: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The fields that are set. Only the names of headers are shown, since any value may be a secret of the client.
    public var description: String {
        let set = customMirror.children.compactMap { child -> String? in
            guard let value = Mirror(reflecting: child.value).children.first?.value else { return nil }
            return "\(child.label ?? ""): \(value)"
        }
        return "RequestOptions(\(set.joined(separator: ", ")))"
    }

    public var debugDescription: String { description }

    /// Shows the fields without the box.
    public var customMirror: Mirror {
        var shown = fields
        shown.headers = headers?.mapValues { _ in Redaction.mask }
        return Mirror(reflecting: shown)
    }
}
