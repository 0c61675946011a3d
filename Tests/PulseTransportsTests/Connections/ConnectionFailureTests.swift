// SPDX-License-Identifier: MIT

#if os(Linux)
import PulseCore
import TestSupport
import Testing

@testable import PulseTransports

@Suite(.throttled)
struct ConnectionFailureTests {
    /// The error number is that of the address that failed last.
    @Test(
        arguments: [
            (ECONNREFUSED, false, true, .cannotConnectToHost), (ENETUNREACH, true, true, .cannotConnectToHost),
            (ENETUNREACH, true, false, .notConnectedToInternet), (ENETUNREACH, false, true, .notConnectedToInternet),
            (EHOSTUNREACH, true, true, .notConnectedToInternet),
        ] as [(Int32, Bool, Bool, URLError.Code)])
    func aPossibleRefusalAtAnotherAddressIsNotAMissingNetwork(
        number: Int32, hasTriedBothFamilies: Bool, hasDefaultRoute: Bool, expected: URLError.Code
    ) {
        let code = ConnectionFailure.connectCode(
            Int(number), hasTriedBothFamilies: hasTriedBothFamilies, hasDefaultRoute: hasDefaultRoute)
        #expect(code == expected)
    }
}
#endif
