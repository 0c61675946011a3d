// SPDX-License-Identifier: MIT

extension PluginContext: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The call, the hop and the attempt, without headers, options or the values of the store. The path is redacted.
    public var description: String {
        "\(method) \(call.shownPath.onOneLine), hop \(hop), attempt \(attempt), \(id)"
    }

    public var debugDescription: String { description }

    public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}

extension PluginContext.Store: CustomStringConvertible, CustomReflectable {
    /// The names of the values, without any value.
    public var description: String {
        "PluginContext.Store(\(call.withStore { $0.named.keys.sorted() }.joined(separator: ", ")))"
    }

    public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}

extension Call: CustomReflectable {
    package var customMirror: Mirror { Mirror(self, children: ["id": id]) }
}
