// SPDX-License-Identifier: MIT

// Declarations for Scripts/check-apple, never compiled into anything: what the sources use of AppKit, after its headers.
public import Foundation

// macOS 10.0, its names for types 10.6.
open class NSPasteboard {
    public struct PasteboardType: RawRepresentable, Hashable, Sendable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }
        public static let string = PasteboardType(rawValue: "public.utf8-plain-text")
    }

    public class var general: NSPasteboard { fatalError() }
    @discardableResult open func clearContents() -> Int { 0 }
    @discardableResult open func setString(_ string: String, forType dataType: PasteboardType) -> Bool { true }
}

// macOS 10.0.
public final class NSImage {
    private let text: String

    // Not of AppKit: a picture of a text.
    public init(_ text: String) { self.text = text }
    public var tiffRepresentation: Data? { Data(text.utf8) }
}
