// SPDX-License-Identifier: MIT

// Declarations for Scripts/check-apple, never compiled into anything: what the sources use of CryptoKit.
// All of it is of iOS 13, macOS 10.15.
import Foundation

public protocol Digest: Hashable, ContiguousBytes, Sequence, Sendable where Element == UInt8 {
    static var byteCount: Int { get }
}

public struct SHA256Digest: Digest {
    public static var byteCount: Int { 32 }
    public func withUnsafeBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
        try body(UnsafeRawBufferPointer(start: nil, count: 0))
    }
    public func makeIterator() -> Array<UInt8>.Iterator { [].makeIterator() }
}

public protocol HashFunction: Sendable {
    associatedtype Digest: CryptoKit.Digest
    init()
    mutating func update(bufferPointer: UnsafeRawBufferPointer)
    func finalize() -> Digest
}

extension HashFunction {
    public static func hash<D: DataProtocol>(data: D) -> Digest { Self().finalize() }
    public mutating func update<D: DataProtocol>(data: D) {}
}

public struct SHA256: HashFunction {
    public init() {}
    public mutating func update(bufferPointer: UnsafeRawBufferPointer) {}
    public func finalize() -> SHA256Digest { SHA256Digest() }
}

public enum Insecure {
    public struct SHA1Digest: Digest {
        public static var byteCount: Int { 20 }
        public func withUnsafeBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
            try body(UnsafeRawBufferPointer(start: nil, count: 0))
        }
        public func makeIterator() -> Array<UInt8>.Iterator { [].makeIterator() }
    }

    public struct SHA1: HashFunction {
        public init() {}
        public mutating func update(bufferPointer: UnsafeRawBufferPointer) {}
        public func finalize() -> SHA1Digest { SHA1Digest() }
    }

    public struct MD5Digest: Digest {
        public static var byteCount: Int { 16 }
        public func withUnsafeBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
            try body(UnsafeRawBufferPointer(start: nil, count: 0))
        }
        public func makeIterator() -> Array<UInt8>.Iterator { [].makeIterator() }
    }

    public struct MD5: HashFunction {
        public init() {}
        public mutating func update(bufferPointer: UnsafeRawBufferPointer) {}
        public func finalize() -> MD5Digest { MD5Digest() }
    }
}

// Apple's documentation says Sendable of newer SDKs; the sources must not count on it.
public struct SymmetricKey: ContiguousBytes, Equatable {
    public init<D: ContiguousBytes>(data: D) {}
    public func withUnsafeBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
        try body(UnsafeRawBufferPointer(start: nil, count: 0))
    }
}

@available(*, unavailable)
extension SymmetricKey: Sendable {}

public struct HashedAuthenticationCode<H: HashFunction>: Hashable, ContiguousBytes {
    public func withUnsafeBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
        try body(UnsafeRawBufferPointer(start: nil, count: 0))
    }
}

public struct HMAC<H: HashFunction> {
    public typealias MAC = HashedAuthenticationCode<H>

    public static func authenticationCode<D: DataProtocol>(for data: D, using key: SymmetricKey) -> MAC { MAC() }
    public static func isValidAuthenticationCode<C: ContiguousBytes, D: DataProtocol>(
        _ authenticationCode: C, authenticating authenticatedData: D, using key: SymmetricKey
    ) -> Bool {
        false
    }
}
