// SPDX-License-Identifier: MIT

// Re-exported so that code which defines endpoints and plugins compiles with `import PulseCore` alone, on every
// platform: on Linux `URLRequest` lives in a module of its own.
@_exported import Foundation

#if canImport(FoundationNetworking)
@_exported import FoundationNetworking
#endif
