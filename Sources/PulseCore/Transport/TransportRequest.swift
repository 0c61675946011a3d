// SPDX-License-Identifier: MIT

/// A request as a transport gets it: final, with every header set.
public struct TransportRequest: Sendable {
    public enum Body: Sendable {
        case none
        /// Also in `urlRequest.httpBody`, where plugins and mocks read it.
        case bytes(Data)
        case file(URL)
        case stream(BodyStream)
    }

    /// How the body of the answer is wanted. `.streamed` and `.file` deliver 2xx only: the body of any other status is
    /// buffered, cut at 64 KiB with ``PulseResponse/isTruncated``.
    public enum Delivery: Sendable, Hashable {
        /// In memory; more than `limit` bytes is ``PulseError/responseTooLarge(limit:)``.
        case buffered(limit: Int)
        /// As a ``ByteStream`` that holds the server back while nobody reads.
        case streamed
        /// Into a file, from that offset on.
        case file(URL, resumeOffset: Int64)
        /// A socket, after status 101.
        case upgrade
    }

    public var urlRequest: URLRequest
    public var body: Body
    public var delivery: Delivery
    /// Seconds for name, TCP and TLS.
    public var connectTimeout: TimeInterval
    /// Seconds without a byte sent or received, once connected.
    public var idleTimeout: TimeInterval
    /// False: an engine that repeats requests by itself must not repeat this one.
    public var mayBeResent: Bool
    public var priority: RequestPriority
    public var progress: (@Sendable (TransferProgress) -> Void)?
    /// Takes pins seen and warnings.
    public var events: (any EventSink)?
    /// What ends it besides its task, where the call has none of its own.
    package var cancellation: Cancellation?
    /// What must not be shown of it, by the client's configuration and by its plugins.
    package var redaction = Redaction.standard
    private var policies: Policies

    /// How a client's connections are secured and led: in a box that its requests share.
    package final class Policies: Sendable {
        let pins: PinSet?
        let tls: TLSSettings
        let proxy: ProxySettings

        package init(pins: PinSet? = nil, tls: TLSSettings, proxy: ProxySettings) {
            self.pins = pins
            self.tls = tls
            self.proxy = proxy
        }
    }

    /// The public keys that the server must show one of; nil for none.
    public var pins: PinSet? {
        get { policies.pins }
        set { policies = Policies(pins: newValue, tls: tls, proxy: proxy) }
    }

    public var tls: TLSSettings {
        get { policies.tls }
        set { policies = Policies(pins: pins, tls: newValue, proxy: proxy) }
    }

    public var proxy: ProxySettings {
        get { policies.proxy }
        set { policies = Policies(pins: pins, tls: tls, proxy: newValue) }
    }

    public init(
        urlRequest: URLRequest,
        body: Body = .none,
        delivery: Delivery = .buffered(limit: 128 << 20),
        connectTimeout: TimeInterval = 10,
        idleTimeout: TimeInterval = 30,
        mayBeResent: Bool = false,
        pins: PinSet? = nil,
        tls: TLSSettings = .default,
        proxy: ProxySettings = .environment,
        priority: RequestPriority = .normal,
        progress: (@Sendable (TransferProgress) -> Void)? = nil,
        events: (any EventSink)? = nil
    ) {
        self.init(
            urlRequest: urlRequest, body: body, delivery: delivery, connectTimeout: connectTimeout,
            idleTimeout: idleTimeout, mayBeResent: mayBeResent,
            policies: Policies(pins: pins, tls: tls, proxy: proxy), priority: priority, progress: progress,
            events: events)
    }

    package init(
        urlRequest: URLRequest, body: Body, delivery: Delivery, connectTimeout: TimeInterval, idleTimeout: TimeInterval,
        mayBeResent: Bool, policies: Policies, priority: RequestPriority,
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

/// How far a body has got.
public struct TransferProgress: Sendable, Hashable {
    /// Bytes so far.
    public let completed: Int64
    /// Bytes in all, if that is known.
    public let total: Int64?

    public init(completed: Int64, total: Int64?) {
        self.completed = completed
        self.total = total
    }
}
