// SPDX-License-Identifier: MIT

/// A stored property that is meant for a requirement, but has another type or another name. Swift treats it as an
/// unrelated member, and the requirement keeps its default.
package struct MistypedRequirement: Sendable, Hashable {
    package let name: String
    package let type: String
    /// The type of the requirement, or the right name if no requirement has this one.
    package let requiredType: String
    /// Whether a requirement has the name.
    package let hasRightName: Bool
    let owner: String
    let required: String

    /// The property, what it should be, and the consequence.
    package var warning: String {
        hasRightName
            ? "\(owner).\(name) is of type \(type), but \(required) requires \(requiredType): "
                + "it is not used, the default is"
            : "\(owner).\(name) is no requirement of \(required), and is not used unless the type uses it itself: "
                + "write \(requiredType)"
    }

    package struct Requirement {
        let name: String
        let typeName: String
        /// The types that satisfy the requirement.
        let types: [Any.Type]
        /// Whether the requirement has its default value. If not, an extension may use the property to implement it.
        /// Called only if needed, since a body may be expensive to make.
        let isDefault: () -> Bool

        package init(
            _ name: String, _ typeName: String, _ types: Any.Type..., isDefault: @escaping () -> Bool
        ) {
            self.name = name
            self.typeName = typeName
            self.types = types
            self.isDefault = isDefault
        }
    }

    /// Common wrong names for a requirement.
    package struct Misnomer {
        let names: Set<String>
        /// The requirement to write instead.
        let right: String
        /// Whether the value may be meant for the requirement: a type's own data may have the same name.
        let fits: (Any) -> Bool
        /// Whether the requirement has its default value. If not, the property may implement it.
        let isDefault: (Any) -> Bool

        package init(
            _ names: Set<String>, _ right: String, fits: @escaping (Any) -> Bool, isDefault: @escaping (Any) -> Bool
        ) {
            self.names = names
            self.right = right
            self.fits = fits
            self.isDefault = isDefault
        }
    }

    /// - Parameter subject: the value whose properties are checked.
    package static func all(
        of subject: Any, for required: String, _ requirements: [Requirement], _ misnomers: [Misnomer] = []
    ) -> [MistypedRequirement] {
        var mirror: Mirror? = Mirror(reflecting: subject)
        var found: [MistypedRequirement] = []
        while let current = mirror {
            for (label, value) in current.children {
                let type = Swift.type(of: value)
                guard let label else { continue }
                let right: (text: String, isName: Bool)
                if let requirement = requirements.first(where: { $0.name == label }) {
                    guard !requirement.types.contains(where: { $0 == type }), requirement.isDefault() else { continue }
                    right = (requirement.typeName, true)
                } else if let misnomer = misnomers.first(where: { $0.names.contains(label) }) {
                    guard let content = content(of: value), misnomer.fits(content), misnomer.isDefault(content)
                    else { continue }
                    right = (misnomer.right, false)
                } else {
                    continue
                }
                found.append(
                    MistypedRequirement(
                        name: label, type: "\(type)", requiredType: right.text, hasRightName: right.isName,
                        owner: "\(Swift.type(of: subject))", required: required))
            }
            mirror = current.superclassMirror
        }
        return found
    }

    /// The value in an optional; nil if there is none.
    private static func content(of value: Any) -> Any? {
        let mirror = Mirror(reflecting: value)
        return mirror.displayStyle == .optional ? mirror.children.first?.value : value
    }
}

extension Endpoint {
    /// The stored properties that look like requirements but are not.
    package var mistypedRequirements: [MistypedRequirement] {
        let pairs = "[String: String]"
        return MistypedRequirement.all(
            of: self, for: "Endpoint",
            [
                .init("method", "HTTPMethod", HTTPMethod.self) { method == .get },
                .init("queryParameters", pairs, [String: String].self) { queryParameters.isEmpty },
                .init("queryItems", "[URLQueryItem]", [URLQueryItem].self) { queryItems.isEmpty },
                .init("headers", pairs, [String: String].self) { headers.isEmpty },
                .init("body", "RequestBody", RequestBody.self) { body.isNone },
                .init("timeoutInterval", "TimeInterval", TimeInterval.self, Int.self) { idleTimeout == 0 },
                .init("isQueueableWhenOffline", "Bool", Bool.self) { !isQueueableWhenOffline },
                .init("options", "RequestOptions", RequestOptions.self) { options.isEmpty },
                .init("plugins", "[any PulsePlugin]", [any PulsePlugin].self) { plugins.isEmpty },
            ], misnomers)
    }

    // Typed: a comparison with a literal would select the property in whole seconds, which has a default.
    private var idleTimeout: TimeInterval { timeoutInterval }

    private var hasNoQuery: Bool {
        let path = try? path.requestPath.text
        return queryParameters.isEmpty && queryItems.isEmpty && path?.utf8.contains(UInt8(ascii: "?")) != true
    }

    private var misnomers: [MistypedRequirement.Misnomer] {
        [
            .init(["timeout", "requestTimeout"], "timeoutInterval, in seconds", fits: MemberMeaning.isTime) { _ in
                idleTimeout == 0 && options.timeout == nil
            },
            .init(["deadline"], "options.deadline, in seconds", fits: MemberMeaning.isTime) { _ in
                options.deadline == nil
            },
            .init(["query", "queryParams"], "queryParameters or queryItems", fits: MemberMeaning.isPairs) { _ in
                hasNoQuery
            },
            .init(["params", "parameters"], "queryParameters, queryItems or body", fits: MemberMeaning.isPairs) { _ in
                hasNoQuery && body.isNone
            },
            .init(["header", "httpHeaders", "headerFields"], "headers", fits: MemberMeaning.isPairs) { _ in
                headers.isEmpty && options.headers == nil
            },
            .init(["httpMethod", "verb", "requestMethod"], "method, an HTTPMethod", fits: MemberMeaning.isMethod) { _ in
                method == .get
            },
            .init(["requestBody", "httpBody"], "body, a RequestBody", fits: { _ in true }) { _ in body.isNone },
            .init(["url", "baseURL"], "path, which may be an absolute URL", fits: MemberMeaning.isURL) {
                MemberMeaning.isUnused($0, by: try? path.requestPath.text)
            },
            .init(["decoder", "jsonDecoder"], "options.decoder", fits: MemberMeaning.isDecoder) { _ in
                options.decoder == nil
            },
            .init(["encoder", "jsonEncoder"], "options.encoder", fits: MemberMeaning.isEncoder) { _ in
                options.encoder == nil
            },
            .init(
                ["isQueueable", "queueable", "isQueueableOffline", "queueableWhenOffline", "isQueuableWhenOffline"],
                "isQueueableWhenOffline", fits: { $0 as? Bool == true }
            ) { _ in !isQueueableWhenOffline },
            .init(["retry", "retryPolicy"], "options.retry", fits: { $0 is RetryPolicy }) { _ in options.retry == nil },
            .init(["cache", "cachePolicy"], "options.cache", fits: { $0 is RequestOptions.Cache }) { _ in
                options.cache == nil
            },
        ]
    }
}

/// Checks whether the value of a misnamed property fits a requirement.
package enum MemberMeaning {
    package static func isTime(_ value: Any) -> Bool {
        if #available(iOS 16, macOS 13, tvOS 16, watchOS 9, *) {  // newer: Duration
            if value is Duration { return true }
        }
        return value is Int || value is TimeInterval
    }

    package static func isPairs(_ value: Any) -> Bool {
        if let items = value as? [URLQueryItem] { return !items.isEmpty }
        if let headers = value as? HTTPHeaders { return !headers.isEmpty }
        let mirror = Mirror(reflecting: value)
        return mirror.displayStyle == .dictionary && !mirror.children.isEmpty
    }

    static func isMethod(_ value: Any) -> Bool {
        let name = value as? String ?? (value as? HTTPMethod)?.rawValue
        return name.map { $0.asciiLowercased != "get" } ?? false
    }

    static func isDecoder(_ value: Any) -> Bool { value is any ResponseDecoder || value is JSONDecoder }
    static func isEncoder(_ value: Any) -> Bool { value is any RequestEncoder || value is JSONEncoder }
    package static func isURL(_ value: Any) -> Bool { text(of: value)?.contains("://") == true }

    /// Whether a path is neither an absolute URL nor has a part of that URL.
    package static func isUnused(_ value: Any, by path: String?) -> Bool {
        guard let path, !path.contains("://"), let url = text(of: value).flatMap({ URL(string: $0) }) else {
            return false
        }
        return url.path.isEmpty || !path.contains(url.path)
    }

    private static func text(of value: Any) -> String? { value as? String ?? (value as? URL)?.absoluteString }
}

extension PulsePlugin {
    /// The stored properties that look like requirements but are not.
    package var mistypedRequirements: [MistypedRequirement] {
        MistypedRequirement.all(
            of: self, for: "PulsePlugin",
            [.init("scope", "PluginScope", PluginScope.self) { scope == .attempt }])
    }
}

extension RequestBody {
    fileprivate var isNone: Bool {
        if case .none = content { true } else { false }
    }
}
