// SPDX-License-Identifier: MIT

public import PulseCore

/// Sends the same credentials with every call: a name and a password, a token, or an API key.
///
/// ```swift
/// let credentials = CredentialsPlugin(apiKey: key)
/// let client = PulseClient(configuration: configuration, plugins: [credentials])
/// ```
///
/// Credentials are sent to the client's home origins only. They are not sent with a call that has the header already,
/// or whose ``RequestOptions/auth`` is ``RequestOptions/Auth/anonymous``. A call to another origin that requires them
/// fails with ``PulseError/invalidRequest(reason:)`` before it is sent. A 401 is the call's outcome.
public struct CredentialsPlugin: PulsePlugin {
    private let header: String
    private let value: String
    private let mustBeMarked: Bool
    private let fault: String?
    private let gate = CredentialGate()

    public var identifier: String { "com.pulse.auth" }
    public var scope: PluginScope { .call }

    /// Basic authentication with a name and a password (RFC 7617), in UTF-8. A name with a colon cannot be expressed:
    /// every call fails with ``PulseError/invalidRequest(reason:)``.
    public init(username: String, password: String) {
        let field = HTTPHeaders.Field.authorization(username: username, password: password)
        self.init(
            field.name, field.value,
            fault: username.utf8.contains(UInt8(ascii: ":"))
                ? "a user name for Basic authentication must not contain a colon" : nil)
    }

    /// Sends a token that does not change (RFC 6750, section 2.1), such as that of a service or a script. With an empty
    /// token, or one with blanks, control or non-ASCII characters, every call fails with
    /// ``PulseError/invalidRequest(reason:)``.
    public init(bearer token: String) {
        let field = HTTPHeaders.Field.authorization(bearer: token)
        let isToken = !token.isEmpty && token.utf8.allSatisfy { (0x21...0x7E).contains($0) }
        self.init(
            field.name, field.value,
            fault: isToken ? nil : "a bearer token must not be empty, or contain blanks or other than ASCII characters")
    }

    /// Sends an API key in a header, `X-API-Key` by default. The header counts as secret, whatever its name.
    public init(apiKey: String, header: String = "X-API-Key") {
        self.init(header, apiKey, fault: nil)
    }

    private init(_ header: String, _ value: String, fault: String?) {
        self.header = header
        self.value = value
        // Foundation would drop an invalid header, and the call would be sent without credentials and without an error.
        let isField = header.isHTTPToken && value.isHTTPFieldValue
        self.fault = fault ?? (isField ? nil : "the credentials are not a valid header field")
        mustBeMarked = !Redaction.standard.isSecret(header)
    }

    public func intercept(
        _ request: URLRequest, for context: PluginContext, next: PluginChain
    ) async throws -> PulseResponse {
        guard try gate.admits(request, for: context), context.options.auth != .anonymous, !request.carries(header)
        else { return try await next(request) }
        if let fault { throw PulseError.invalidRequest(reason: fault) }
        if mustBeMarked { context.markSecret(header: header) }
        gate.noteHandled(in: context)
        var request = request
        request.setHeader(header, to: value)
        return try await next(request)
    }
}

extension CredentialsPlugin: HookDeclaring {}

extension CredentialsPlugin: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The header's name, never its value.
    public var description: String { "CredentialsPlugin(\(header))" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: ["header": header]) }
}

extension PulsePlugin where Self == CredentialsPlugin {
    /// A ``CredentialsPlugin`` with a name and a password: ``CredentialsPlugin/init(username:password:)``.
    public static func basic(username: String, password: String) -> CredentialsPlugin {
        CredentialsPlugin(username: username, password: password)
    }

    /// A ``CredentialsPlugin`` with a token that does not change: ``CredentialsPlugin/init(bearer:)``. For a token that
    /// is refreshed, use `.auth` with a ``TokenProvider``.
    public static func bearer(_ token: String) -> CredentialsPlugin {
        CredentialsPlugin(bearer: token)
    }

    /// A ``CredentialsPlugin`` with an API key: ``CredentialsPlugin/init(apiKey:header:)``.
    public static func apiKey(_ key: String, header: String = "X-API-Key") -> CredentialsPlugin {
        CredentialsPlugin(apiKey: key, header: header)
    }
}
