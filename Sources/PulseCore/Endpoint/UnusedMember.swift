// SPDX-License-Identifier: MIT

/// A stored property with the name of a requirement and another type. Swift treats it as an unrelated member, and the
/// requirement keeps its default.
package struct UnusedMember: Sendable, Hashable {
    package let name: String
    package let type: String
    package let requiredType: String
    let owner: String
    let required: String

    /// The property, both types, and the consequence.
    package var warning: String {
        "\(owner).\(name) is of type \(type), but \(required) requires \(requiredType): it is not used, the default is"
    }

    fileprivate struct Requirement {
        let name: String
        let typeName: String
        /// The types that satisfy the requirement.
        let types: [Any.Type]
        /// Whether the requirement has its default value. If not, an extension may use the property to implement it.
        /// Called only in doubt, since a body may be expensive to make.
        let isDefault: () -> Bool

        init(_ name: String, _ typeName: String, _ types: Any.Type..., isDefault: @escaping () -> Bool) {
            self.name = name
            self.typeName = typeName
            self.types = types
            self.isDefault = isDefault
        }
    }

    /// - Parameter subject: the value whose properties are checked.
    fileprivate static func all(
        of subject: Any, for required: String, _ requirements: [Requirement]
    ) -> [UnusedMember] {
        var mirror: Mirror? = Mirror(reflecting: subject)
        var found: [UnusedMember] = []
        while let current = mirror {
            for (label, value) in current.children {
                let type = Swift.type(of: value)
                guard let requirement = requirements.first(where: { $0.name == label }),
                    !requirement.types.contains(where: { $0 == type }), requirement.isDefault()
                else { continue }
                found.append(
                    UnusedMember(
                        name: requirement.name, type: "\(type)", requiredType: requirement.typeName,
                        owner: "\(Swift.type(of: subject))", required: required))
            }
            mirror = current.superclassMirror
        }
        return found
    }
}

extension Endpoint {
    /// The stored properties that look like requirements but are not.
    package var unusedMembers: [UnusedMember] {
        let pairs = "[String: String]"
        return UnusedMember.all(
            of: self, for: "Endpoint",
            [
                .init("method", "HTTPMethod", HTTPMethod.self) { method == .get },
                .init("queryParameters", pairs, [String: String].self) { queryParameters.isEmpty },
                .init("queryItems", "[URLQueryItem]", [URLQueryItem].self) { queryItems.isEmpty },
                .init("headers", pairs, [String: String].self) { headers.isEmpty },
                .init("body", "RequestBody", RequestBody.self) { body.isNone },
                .init("timeoutInterval", "TimeInterval", TimeInterval.self, Int.self) { timeoutInterval == 0 },
                .init("isQueueableWhenOffline", "Bool", Bool.self) { !isQueueableWhenOffline },
                .init("options", "RequestOptions", RequestOptions.self) { options.isEmpty },
                .init("plugins", "[any PulsePlugin]", [any PulsePlugin].self) { plugins.isEmpty },
            ])
    }
}

extension PulsePlugin {
    /// The stored properties that look like requirements but are not.
    package var unusedMembers: [UnusedMember] {
        UnusedMember.all(
            of: self, for: "PulsePlugin",
            [.init("scope", "PluginScope", PluginScope.self) { scope == .attempt }])
    }
}

extension RequestBody {
    fileprivate var isNone: Bool {
        if case .none = content { true } else { false }
    }
}
