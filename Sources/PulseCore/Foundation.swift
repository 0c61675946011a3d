// SPDX-License-Identifier: MIT

// Re-exported so that code that defines endpoints and plugins compiles with `import PulseCore` alone on every platform.
// On Linux, `URLRequest` is in a separate module.
@_exported import Foundation

#if canImport(FoundationNetworking)
@_exported import FoundationNetworking
#endif
