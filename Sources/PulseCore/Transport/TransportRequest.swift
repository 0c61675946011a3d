// SPDX-License-Identifier: MIT

/// The final request that a transport receives, with every header set.
public struct TransportRequest: Sendable {
    /// The body of the request.
    public enum Body: Sendable {
        /// No body.
        case none
        /// Bytes in memory. They are also in `urlRequest.httpBody`, where plugins and mocks read them.
        case bytes(Data)
        /// A file on disk, read while it is sent.
        case file(URL)
        /// Bytes that are produced while they are sent.
        case stream(RequestBody.Stream)
    }

    /// How the body of the response is delivered. `.streamed` and `.file` apply only to 2xx. The body of any other
    /// status is buffered and truncated at 64 KiB, with ``PulseResponse/isTruncated`` set.
    public enum Delivery: Sendable, Hashable {
        /// In memory. A transport throws a ``TransportFailure`` for more than `limit` bytes, with
        /// ``PulseError/responseTooLarge(limit:)`` as its `underlying` error, or this error itself.
        case buffered(limit: Int)
        /// As a ``ByteStream``, with backpressure on the server while it is not read.
        case streamed
        /// Into a file, written from that byte offset.
        case file(URL, resumeOffset: Int64)
        /// As a ``DuplexConnection``, after status 101.
        case upgrade
    }

    /// The request with its URL, method and headers, and with the body if it is bytes.
    public var urlRequest: URLRequest
    /// The body of the request.
    public var body: Body
    /// How the body of the response is delivered.
    public var delivery: Delivery
    /// The connect timeout: seconds for name resolution, TCP and TLS together. 10 by default.
    public var connectTimeout: TimeInterval
    /// The idle timeout: seconds without a byte sent or received, once connected. 30 by default.
    public var idleTimeout: TimeInterval
    /// The pool timeout: the maximum wait in seconds for a connection slot of the host, if the transport limits its
    /// requests. 60 by default, infinity for no limit. After it, a transport throws a ``TransportFailure`` with the
    /// code `timedOut`, the phase ``PulseError/Phase/beforeSend`` and a ``PulseError/PoolTimeout`` as its `underlying`
    /// error.
    public var poolTimeout: TimeInterval = 60
    /// Whether the client resends this request if its connection turns out to be stale. False by default.
    ///
    /// A transport never sends a request twice, whatever this value: it throws a ``TransportFailure`` with
    /// ``TransportFailure/isStaleConnection``. If this is false, a transport avoids idle connections that the server
    /// may be about to close. An engine that silently repeats requests, with no way to turn that off, must still not
    /// repeat such a request.
    public var mayBeResent: Bool
    /// Whether the request must not use an idle HTTP/1.1 connection: the previous one was stale, and others may be.
    /// False by default.
    public var needsNewConnection = false
    /// Whether the server responded to the previous attempt with 421 (Misdirected Request). The request must not use
    /// any connection that was open before, not even a shared HTTP/2 connection (RFC 9110, section 15.5.20).
    /// ``needsNewConnection`` is then also set. False by default.
    public var wasMisdirected = false
    /// The urgency of the request relative to others of its client.
    public var priority: RequestOptions.Priority
    /// Receives the progress of the request's body if there is one, else of a response body that goes to a file. An
    /// empty body is 0 of 0 bytes. Called from any thread, at each step: the client throttles the reports. Nil without
    /// a listener.
    public var progress: (@Sendable (TransferProgress) -> Void)?
    /// Receives the transport's events: ``NetworkEvent/pinningFailed(host:seen:)`` and warnings.
    public var events: (any EventSink)?
    /// The context in which a transport records that the request waits for a slot; nil outside a client.
    package var context: PluginContext?
    /// Whether the request takes a connection slot of its host. A stream takes none: it may be open for hours, while
    /// other requests would wait for its slot. A download is streamed as well, but it ends.
    package var takesSlot: Bool { delivery != .streamed || context?.store[StoredBodyKey.self] == true }
    /// Masks the secrets of the request, with the rules of the client's configuration and of its plugins.
    package var redaction = Redaction.standard
    package private(set) var policies: Policies

    /// How a client's connections are made, secured and routed. Boxed, since the client's requests share it.
    package final class Policies: Sendable {
        let pins: SSLPinningPolicy.PinSet?
        let tls: TLSSettings
        let proxy: ProxySettings
        let httpVersions: PulseConfiguration.HTTPVersions

        package init(
            pins: SSLPinningPolicy.PinSet? = nil, tls: TLSSettings, proxy: ProxySettings,
            httpVersions: PulseConfiguration.HTTPVersions = .automatic
        ) {
            self.pins = pins
            self.tls = tls
            self.proxy = proxy
            self.httpVersions = httpVersions
        }
    }

    /// The pinned keys, one of which the server's certificate chain must contain; nil if there are no pins.
    public var pins: SSLPinningPolicy.PinSet? {
        get { policies.pins }
        set { policies = Policies(pins: newValue, tls: tls, proxy: proxy, httpVersions: httpVersions) }
    }

    /// How the connection is secured, beyond the system's defaults.
    public var tls: TLSSettings {
        get { policies.tls }
        set { policies = Policies(pins: pins, tls: newValue, proxy: proxy, httpVersions: httpVersions) }
    }

    /// The proxy for the connection.
    public var proxy: ProxySettings {
        get { policies.proxy }
        set { policies = Policies(pins: pins, tls: tls, proxy: newValue, httpVersions: httpVersions) }
    }

    /// The HTTP versions that the connection may use. An upgrade always uses HTTP/1.1.
    public var httpVersions: PulseConfiguration.HTTPVersions {
        get { policies.httpVersions }
        set { policies = Policies(pins: pins, tls: tls, proxy: proxy, httpVersions: newValue) }
    }

    /// Creates a request. All but `urlRequest` have defaults. Times are in seconds, and a buffered body is limited to
    /// 128 MiB unless `delivery` says otherwise.
    public init(
        urlRequest: URLRequest,
        body: Body = .none,
        delivery: Delivery = .buffered(limit: 128 << 20),
        connectTimeout: TimeInterval = 10,
        idleTimeout: TimeInterval = 30,
        mayBeResent: Bool = false,
        pins: SSLPinningPolicy.PinSet? = nil,
        tls: TLSSettings = .default,
        proxy: ProxySettings = .environment,
        httpVersions: PulseConfiguration.HTTPVersions = .automatic,
        priority: RequestOptions.Priority = .normal,
        progress: (@Sendable (TransferProgress) -> Void)? = nil,
        events: (any EventSink)? = nil
    ) {
        self.init(
            urlRequest: urlRequest, body: body, delivery: delivery, connectTimeout: connectTimeout,
            idleTimeout: idleTimeout, mayBeResent: mayBeResent,
            policies: Policies(pins: pins, tls: tls, proxy: proxy, httpVersions: httpVersions), priority: priority,
            progress: progress, events: events)
    }

    package init(
        urlRequest: URLRequest, body: Body, delivery: Delivery, connectTimeout: TimeInterval, idleTimeout: TimeInterval,
        mayBeResent: Bool, policies: Policies, priority: RequestOptions.Priority,
        progress: (@Sendable (TransferProgress) -> Void)? = nil, events: (any EventSink)?
    ) {
        self.urlRequest = urlRequest
        self.body = body
        self.delivery = delivery
        self.connectTimeout = connectTimeout
        self.idleTimeout = idleTimeout
        self.mayBeResent = mayBeResent
        self.policies = policies
        self.priority = priority
        self.progress = progress
        self.events = events
    }
}

extension TransportRequest.Policies: Hashable {
    package static func == (one: TransportRequest.Policies, other: TransportRequest.Policies) -> Bool {
        one === other
            || one.pins == other.pins && one.tls == other.tls && one.proxy == other.proxy
                && one.httpVersions == other.httpVersions
    }

    /// Hashes nothing: few policies are in use at a time, and a comparison with the same box is cheap.
    package func hash(into hasher: inout Hasher) {}
}
