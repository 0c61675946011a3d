// SPDX-License-Identifier: MIT

// A protocol of its own, since one protocol cannot require a property with two types. In code that uses an endpoint its
// own requirement, which refines this one, is what the name means.
/// The idle timeout of an ``Endpoint`` in whole seconds, so that `let timeoutInterval = 60`, an `Int`, means the same
/// as `60.0`.
public protocol WholeSecondTimeout {
    /// Whole seconds without a byte sent or received before the call fails; 0, the default, takes the client's timeout.
    var timeoutInterval: Int { get }
}

extension WholeSecondTimeout {
    public var timeoutInterval: Int { 0 }
}

/// Reads the property by its protocol, where its type is not in doubt.
func wholeSeconds(of timeout: some WholeSecondTimeout) -> Int { timeout.timeoutInterval }
