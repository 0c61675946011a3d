// SPDX-License-Identifier: MIT

// Declarations for Scripts/check-apple, never compiled into anything: what the sources use of Network.
import Dispatch

// Not Sendable: that is not confirmed for every SDK, and the sources do without.
public final class NWPathMonitor {
    public init() {}
    public var pathUpdateHandler: (@Sendable (NWPath) -> Void)?
    public func start(queue: DispatchQueue) {}
    public func cancel() {}
}

public struct NWPath: Sendable {
    public enum Status: Sendable {
        case satisfied, unsatisfied, requiresConnection
    }

    public var status: Status { .satisfied }
    public var isExpensive: Bool { false }
    public var isConstrained: Bool { false }
    public func usesInterfaceType(_ type: NWInterface.InterfaceType) -> Bool { false }
}

public struct NWInterface: Sendable {
    public enum InterfaceType: Sendable {
        case other, wifi, cellular, wiredEthernet, loopback
    }
}
