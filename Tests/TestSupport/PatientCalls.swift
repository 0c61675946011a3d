// SPDX-License-Identifier: MIT

public import PulseCore
public import PulseTesting

extension PulseConfiguration {
    /// For calls to a server in this process. On a busy machine its response may be late, since all tests of a run
    /// start at once. None of these calls should fail for that. With TLS, connecting also waits for the server.
    public static func patient(with server: MockServer) -> PulseConfiguration {
        PulseConfiguration(baseURL: server.baseURL).with(\.timeout, value: 600)
            .with(\.connectTimeout, value: 600).with(\.poolTimeout, value: 600)
    }
}
