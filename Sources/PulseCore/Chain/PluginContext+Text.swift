// SPDX-License-Identifier: MIT

extension PluginContext: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Which call, which hop, which attempt; no header, no option, nothing of the store.
    public var description: String {
        "\(method) \(endpointPath.onOneLine), hop \(hop), attempt \(attempt), \(id)"
    }

    public var debugDescription: String { description }

    public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}

extension ContextStore: CustomStringConvertible, CustomReflectable {
    /// The names of what is kept, and no value.
    public var description: String {
        "ContextStore(\(call.withStore { $0.named.keys.sorted() }.joined(separator: ", ")))"
    }

    public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}

extension Call: CustomReflectable {
    package var customMirror: Mirror { Mirror(self, children: ["id": id]) }
}
