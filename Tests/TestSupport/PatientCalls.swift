// SPDX-License-Identifier: MIT

public import PulseCore
public import PulseTesting

extension PulseConfiguration {
    /// For calls to a server in this process. On a machine that has other things to do its response may be there late, as all
    /// tests of a run begin at once: none of these calls is to fail for that. With TLS connecting waits for the server, too.
    public static func patient(with server: MockServer) -> PulseConfiguration {
        PulseConfiguration(baseURL: server.baseURL).with(\.timeout, value: 600)
            .with(\.connectTimeout, value: 600)
    }
}
