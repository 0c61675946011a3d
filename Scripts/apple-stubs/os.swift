// SPDX-License-Identifier: MIT

// Declarations for Scripts/check-apple, never compiled into anything: what the sources use of os. `Logger`
// and what its methods take are of iOS 14, macOS 11, `OSLogType` is of iOS 10, macOS 10.12.
public struct Logger: Sendable {
    public init(subsystem: String, category: String) {}
    public func log(level: OSLogType, _ message: OSLogMessage) {}
    public func debug(_ message: OSLogMessage) {}
    public func info(_ message: OSLogMessage) {}
    public func notice(_ message: OSLogMessage) {}
    public func warning(_ message: OSLogMessage) {}
    public func error(_ message: OSLogMessage) {}
}

public struct OSLogType: Sendable {
    public static let debug = OSLogType()
    public static let info = OSLogType()
    public static let `default` = OSLogType()
    public static let error = OSLogType()
    public static let fault = OSLogType()
}

public struct OSLogPrivacy: Sendable {
    public static let `public` = OSLogPrivacy()
    public static let `private` = OSLogPrivacy()
}

public struct OSLogMessage: ExpressibleByStringInterpolation {
    public init(stringLiteral value: String) {}
    public init(stringInterpolation: OSLogInterpolation) {}
}

public struct OSLogInterpolation: StringInterpolationProtocol {
    public init(literalCapacity: Int, interpolationCount: Int) {}
    public mutating func appendLiteral(_ literal: String) {}
    public mutating func appendInterpolation(
        _ value: @autoclosure @escaping () -> String, privacy: OSLogPrivacy = .private
    ) {}
    public mutating func appendInterpolation(
        _ value: @autoclosure @escaping () -> Int, privacy: OSLogPrivacy = .private
    ) {}
}
