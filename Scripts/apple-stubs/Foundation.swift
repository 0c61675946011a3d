// SPDX-License-Identifier: MIT

// Declarations for Scripts/check-apple, never compiled into anything: `import Foundation` in the sources becomes an
// import of this module, which adds what only Apple's Foundation has, or what Linux marks as unavailable.
@_exported import Foundation
@_exported import FoundationNetworking

extension URLSessionConfiguration {
    public var waitsForConnectivity: Bool {
        get { fatalError() }
        set {}
    }
}
