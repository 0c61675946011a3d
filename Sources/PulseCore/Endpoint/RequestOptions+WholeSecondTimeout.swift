// SPDX-License-Identifier: MIT

extension RequestOptions {
    // A separate protocol, since one protocol cannot require a property with two types. In code that uses an endpoint,
    // the name means the endpoint's own requirement, which refines this one.
    /// The idle timeout of an ``Endpoint`` in whole seconds, so that `let timeoutInterval = 60`, an `Int`, has the same
    /// meaning as `60.0`.
    public protocol WholeSecondTimeout {
        /// Whole seconds without a byte sent or received before the call fails; 0, the default, uses the client's
        /// timeout.
        var timeoutInterval: Int { get }
    }
}

extension RequestOptions.WholeSecondTimeout {
    public var timeoutInterval: Int { 0 }
}

/// Reads the property through its protocol, where its type is unambiguous.
func wholeSeconds(of timeout: some RequestOptions.WholeSecondTimeout) -> Int { timeout.timeoutInterval }
